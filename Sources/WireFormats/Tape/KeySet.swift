/// The keys of one dictionary, as tokens.
///
/// Few keys are compared with each other; many are sorted by a seeded hash first, so that no chosen set of keys makes
/// the check slow.
struct KeySet {
    static let pairwise = 10
    private var keys: [TapeToken] = []

    mutating func removeAll() {
        keys.removeAll(keepingCapacity: true)
        if keys.capacity < Self.pairwise { keys.reserveCapacity(Self.pairwise) }
    }

    mutating func append(_ key: TapeToken) { keys.append(key) }

    func areDistinct(input: [UInt8], side: [UInt8]) -> Bool {
        let bytes = KeyBytes(input: input, side: side)
        guard keys.count <= Self.pairwise else { return areDistinct(hashed: bytes) }
        return keys.withUnsafeBufferPointer { Self.areDistinct(few: $0, input, side) }
    }

    /// At most ``pairwise`` keys.
    static func areDistinct(few keys: UnsafeBufferPointer<TapeToken>, _ input: [UInt8], _ side: [UInt8]) -> Bool {
        for later in 1..<max(keys.count, 1) {
            for earlier in 0..<later where mayBeSame(keys[earlier], keys[later]) {
                let bytes = KeyBytes(input: input, side: side)
                if bytes.areSame(keys[earlier], keys[later]) { return false }
            }
        }
        return true
    }

    /// Texts that are stored alike are as long as they are stored; escapes hide the length.
    @inline(__always)
    private static func mayBeSame(_ left: TapeToken, _ right: TapeToken) -> Bool {
        left.head == right.head || left.storage != right.storage || left.storage == .jsonEscaped
    }

    private func areDistinct(hashed bytes: KeyBytes) -> Bool {
        let hashed = keys.map { (hash: bytes.hash($0), key: $0) }.sorted { $0.hash < $1.hash }
        return zip(hashed, hashed.dropFirst()).allSatisfy { $0.hash != $1.hash || !bytes.areSame($0.key, $1.key) }
    }
}

/// The bytes of keys on an unfinished tape.
struct KeyBytes {
    let input: [UInt8]
    let side: [UInt8]

    func areSame(_ left: TapeToken, _ right: TapeToken) -> Bool {
        withBytes(left) { first in
            withBytes(right) { second in SWAR.areEqual(first, second) }
        }
    }

    func hash(_ key: TapeToken) -> Int {
        var hasher = Hasher()
        withBytes(key) { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return hasher.finalize()
    }

    func withBytes<Result>(_ token: TapeToken, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let range = token.offset..<token.offset + token.length
        switch token.storage {
        case .input: return input.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
        case .side: return side.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
        case .jsonEscaped: return JSONText.unescaped(input[range]).withUnsafeBufferPointer(body)
        case .utf16: return UTF16Text.utf8(input[range]).withUnsafeBufferPointer(body)
        }
    }
}
