import ValueTree

/// Builds the tree of a tape by recursion.
struct TreeBuilder {
    let tape: Tape
    let tokens: UnsafeBufferPointer<TapeToken>
    let input: UnsafeBufferPointer<UInt8>
    var position: Int
    private var keys: KeyCache

    init(
        tape: Tape, tokens: UnsafeBufferPointer<TapeToken>, input: UnsafeBufferPointer<UInt8>, position: Int
    ) {
        (self.tape, self.tokens, self.input, self.position) = (tape, tokens, input, position)
        keys = KeyCache(tokens: tokens.count)
    }

    mutating func takeValue() -> WireValue {
        let token = tokens[position]
        position &+= 1
        switch token.kind {
        case .string where token.storage == .input: return .string(String(decoding: bytes(token), as: UTF8.self))
        case .int64: return .int64(token.int64)
        case .array: return .array(takeItems(token.memberCount))
        case .dictionary: return .dictionary(takeMembers(token.memberCount))
        default: return tape.scalar(token)
        }
    }

    private func bytes(_ token: TapeToken) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: input[token.offset..<token.offset &+ token.length])
    }

    private mutating func takeItems(_ count: Int) -> [WireValue] {
        let items = [WireValue](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                buffer.initializeElement(at: filled, to: takeValue())
                filled &+= 1
            }
        }
        position &+= 1
        return items
    }

    private mutating func takeMembers(_ count: Int) -> WireDictionary {
        let members = [WireDictionary.Entry](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let key = takeKey()
                buffer.initializeElement(at: filled, to: .init(key: key, value: takeValue()))
                filled &+= 1
            }
        }
        position &+= 1
        return WireDictionary(uncheckedUniqueKeys: members)
    }

    private mutating func takeKey() -> String {
        let token = tokens[position]
        position &+= 1
        return token.storage == .input ? keys.string(bytes(token)) : tape.string(of: token)
    }
}

/// Remembers the keys made last: the records of a list have the same ones, and comparing is cheaper than making. A short
/// document has too few for that.
private struct KeyCache {
    private static let size = 64
    private static let worthwhile = 200
    private var known: [String] = []
    private var places: [UnsafeBufferPointer<UInt8>] = []

    init(tokens: Int) {
        guard tokens >= Self.worthwhile else { return }
        known = Array(repeating: "", count: Self.size)
        places = Array(repeating: .init(start: nil, count: 0), count: Self.size)
    }

    mutating func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard !known.isEmpty, let first = bytes.first else { return String(decoding: bytes, as: UTF8.self) }
        let slot =
            Int(first &* 7 ^ bytes[bytes.count - 1] ^ UInt8(truncatingIfNeeded: bytes.count &* 11)) & (Self.size - 1)
        if SWAR.areEqual(places[slot], bytes) { return known[slot] }
        known[slot] = String(decoding: bytes, as: UTF8.self)
        places[slot] = bytes
        return known[slot]
    }
}
