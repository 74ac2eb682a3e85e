/// Finds equal keys in dictionaries of a tape under construction, and drops the earlier ones if asked to.
///
/// The records of a list have the same keys in the same order. So the last dictionary of each size that was found to
/// be in order is remembered, and one with the very same keys is in order too: that takes one comparison for each key
/// instead of one for each pair.
struct DuplicateKeys: ~Copyable {
    /// Dictionaries (by the position of their first token) in which a key occurs twice.
    private(set) var found: Set<Int> = []
    private var keys = KeySet()
    /// Positions of dictionaries without equal keys, by the low bits of their number of members; 0 for none, which
    /// costs no more than that a dictionary at the top is not remembered.
    private var shapes = SIMD8<Int>(repeating: 0)

    mutating func check(_ tokens: borrowing TokenBuffer, dictionary: Int, input: [UInt8], side: [UInt8]) -> Bool {
        let isUnique = tokens.withUnsafeBufferPointer { tokens in
            check(tokens, dictionary, input, side)
        }
        if !isUnique { found.insert(dictionary) }
        return isUnique
    }

    private mutating func check(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        let slot = tokens[dictionary].memberCount & 7
        let known = shapes[slot]
        if known > 0, Self.haveSameKeys(tokens, known, dictionary, input) { return true }
        let isUnique =
            tokens[dictionary].memberCount <= KeySet.pairwise
            ? Self.areDistinct(few: tokens, dictionary, input, side) : areDistinct(tokens, dictionary, input, side)
        if isUnique { shapes[slot] = dictionary }
        return isUnique
    }

    private mutating func areDistinct(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        keys.removeAll()
        var position = dictionary + 1
        while tokens[position].kind == .key {
            keys.append(tokens[position])
            position = Self.next(tokens, position)
        }
        return keys.areDistinct(input: input, side: side)
    }

    /// The same on the stack.
    private static func areDistinct(
        few tokens: UnsafeBufferPointer<TapeToken>, _ dictionary: Int, _ input: [UInt8], _ side: [UInt8]
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: TapeToken.self, capacity: KeySet.pairwise) { keys in
            var (position, count) = (dictionary + 1, 0)
            while tokens[position].kind == .key {
                keys.initializeElement(at: count, to: tokens[position])
                count += 1
                position = next(tokens, position)
            }
            return KeySet.areDistinct(few: UnsafeBufferPointer(rebasing: keys[..<count]), input, side)
        }
    }

    /// To be called where tokens were removed.
    mutating func forgetShapes() { shapes = SIMD8(repeating: 0) }

    private static func haveSameKeys(
        _ tokens: UnsafeBufferPointer<TapeToken>, _ known: Int, _ dictionary: Int, _ input: [UInt8]
    ) -> Bool {
        input.withUnsafeBufferPointer { input in
            var (left, right) = (known + 1, dictionary + 1)
            while tokens[left].kind == .key {
                guard tokens[left].isSameKey(as: tokens[right], in: input) else { return false }
                (left, right) = (next(tokens, left), next(tokens, right))
            }
            return tokens[right].kind == .end
        }
    }

    /// The key after the one at `position`, or the end.
    @inline(__always)
    private static func next(_ tokens: UnsafeBufferPointer<TapeToken>, _ position: Int) -> Int {
        let value = tokens[position + 1]
        return position + 2 + (value.isContainer ? value.length : 0)
    }

    /// The tape without the dropped members: one pass, however deeply duplicates are nested.
    consuming func resolve(_ tape: Tape) -> Tape {
        DuplicateRewriter(source: tape, ambiguous: found).rewrite()
    }
}

extension TapeToken {
    /// Whether both are keys in the input, as they are, with the same bytes.
    @inline(__always)
    fileprivate func isSameKey(as other: TapeToken, in input: UnsafeBufferPointer<UInt8>) -> Bool {
        guard head == other.head, storage == .input else { return false }
        return SWAR.areEqual(
            UnsafeBufferPointer(rebasing: input[offset..<offset &+ length]),
            UnsafeBufferPointer(rebasing: input[other.offset..<other.offset &+ length]))
    }
}

/// Copies a tape without the members whose key occurs again later in the same dictionary: the last value wins, at the
/// first one's place.
struct DuplicateRewriter: ~Copyable {
    let source: Tape
    let ambiguous: Set<Int>
    private var tokens: TokenBuffer
    private var dropped = 0
    private var origins: [Int] = []

    init(source: Tape, ambiguous: Set<Int>) {
        self.source = source
        self.ambiguous = ambiguous
        tokens = TokenBuffer(capacity: source.tokens.count)
    }

    consuming func rewrite() -> Tape {
        copyValue(at: 0)
        return Tape(
            tokens: tokens.finish(), input: source.input, side: source.side, droppedDuplicates: dropped,
            origins: origins)
    }

    /// Recursion is bounded by the depth limit that the builder kept.
    private mutating func copyValue(at position: Int) {
        let token = source.tokens[position]
        let start = tokens.count
        append(token, from: position)
        guard token.isContainer else { return }
        let count = token.kind == .array ? copyItems(of: position) : copyMembers(of: position)
        tokens[start] = TapeToken(token.kind, offset: count, length: tokens.count - start)
        append(TapeToken(.end), from: position + token.length)
    }

    private mutating func append(_ token: TapeToken, from position: Int) {
        tokens.append(token)
        origins.append(position)
    }

    private mutating func copyItems(of array: Int) -> Int {
        var position = array + 1
        while source.tokens[position].kind != .end {
            copyValue(at: position)
            position = source.position(after: position)
        }
        return source.tokens[array].memberCount
    }

    private mutating func copyMembers(of dictionary: Int) -> Int {
        let members = ambiguous.contains(dictionary) ? lastOfEachKey(dictionary) : allKeys(dictionary).map { ($0, $0) }
        for (key, valueOf) in members {
            append(source.tokens[key], from: key)
            copyValue(at: valueOf + 1)
        }
        dropped += source.tokens[dictionary].memberCount - members.count
        return members.count
    }

    private func allKeys(_ dictionary: Int) -> [Int] {
        var keys: [Int] = []
        var position = dictionary + 1
        while source.tokens[position].kind == .key {
            keys.append(position)
            position = source.position(after: position)
        }
        return keys
    }

    /// For each distinct key, its first and its last occurrence, in the order of the first ones.
    private func lastOfEachKey(_ dictionary: Int) -> [(first: Int, last: Int)] {
        let reader = KeyBytes(input: source.input, side: source.side)
        var places: [[UInt8]: Int] = [:]
        var members: [(first: Int, last: Int)] = []
        for key in allKeys(dictionary) {
            let bytes = reader.withBytes(source.tokens[key]) { [UInt8]($0) }
            if let place = places[bytes] {
                members[place].last = key
            } else {
                places[bytes] = members.count
                members.append((key, key))
            }
        }
        return members
    }
}

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

/// Remembers the keys made last: the records of a list have the same ones, and comparing is cheaper than making. A short
/// document has too few for that.
struct KeyCache {
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
