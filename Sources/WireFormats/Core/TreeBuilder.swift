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

    /// A short array is cheaper to fill by appending: making one with room for a closure to fill looks its type up.
    private static let few = 32

    private mutating func takeItems(_ count: Int) -> [WireValue] {
        if count <= Self.few { return takeFewItems(count) }
        let items = [WireValue](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                buffer.initializeElement(at: filled, to: takeValue())
                filled &+= 1
            }
        }
        position &+= 1
        return items
    }

    private mutating func takeFewItems(_ count: Int) -> [WireValue] {
        var items: [WireValue] = []
        items.reserveCapacity(count)
        for _ in 0..<count { items.append(takeValue()) }
        position &+= 1
        return items
    }

    private mutating func takeMembers(_ count: Int) -> WireDictionary {
        if count <= Self.few { return takeFewMembers(count) }
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

    private mutating func takeFewMembers(_ count: Int) -> WireDictionary {
        var members: [WireDictionary.Entry] = []
        members.reserveCapacity(count)
        for _ in 0..<count {
            let key = takeKey()
            members.append(.init(key: key, value: takeValue()))
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
