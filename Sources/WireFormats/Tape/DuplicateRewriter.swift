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
