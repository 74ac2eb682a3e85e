/// Builds a ``Tape`` while a reader scans, and keeps the limits: depth, values, expanded bytes, duplicate keys.
///
/// The reader stays responsible for its grammar: it calls `key` before each member of a dictionary and nowhere else,
/// closes what it opened, and appends one value at the top. Every method that can pass a limit takes the offset in the
/// input that the error shall name.
public struct TapeBuilder: ~Copyable {
    var tokens: TokenBuffer
    /// How many containers are open.
    public private(set) var depth = 0
    var current = Frame(start: -1, members: 0, kind: .array)
    var side: [UInt8] = []
    var remainingBytes: Int
    let valueLimit: Int
    var duplicates = DuplicateKeys()
    let input: [UInt8]
    let limits: ReadingLimits
    let positions: PositionStyle

    /// Whether errors name line and column.
    public enum PositionStyle: Sendable {
        case text, binary
    }

    public init(input: [UInt8], limits: ReadingLimits, positions: PositionStyle) {
        self.input = input
        self.limits = limits
        self.positions = positions
        remainingBytes = limits.expandedBytes
        valueLimit = limits.values
        tokens = TokenBuffer(capacity: min(input.count / 8, limits.values) + 8)
    }

    /// Whether the innermost open container is a dictionary.
    public var isInDictionary: Bool { current.kind == .dictionary }
    public var isEmpty: Bool { tokens.count == 0 }

    /// null, booleans, numbers, dates, uids.
    @inline(__always)
    public mutating func scalar(_ token: TapeToken, at offset: Int) throws(WireFormatError) {
        try countValue(at: offset)
        tokens.append(token)
    }

    /// A string, data, or a decimal.
    @inline(__always)
    public mutating func bytes(_ token: TapeToken, at offset: Int) throws(WireFormatError) {
        try countValue(at: offset)
        try countBytes(token.length, at: offset)
        tokens.append(token)
    }

    @inline(__always)
    public mutating func key(_ token: TapeToken, at offset: Int) throws(WireFormatError) {
        try countBytes(token.length, at: offset)
        tokens.append(token)
    }

    /// Puts resolved text or data aside and gives the token that refers to it.
    public mutating func aside(_ kind: TapeToken.Kind, _ bytes: some Collection<UInt8>) -> TapeToken {
        let token = TapeToken(kind, offset: side.count, length: bytes.count, storage: .side)
        side.append(contentsOf: bytes)
        return token
    }

    public mutating func begin(_ container: ContainerKind, at offset: Int) throws(WireFormatError) {
        guard depth < limits.depth else { throw exceeded("depth", limits.depth, at: offset) }
        try countValue(at: offset)
        let kind: TapeToken.Kind = container == .array ? .array : .dictionary
        let around = current
        current = Frame(start: tokens.count, members: 0, kind: container)
        // What the token of an open container has room for is the frame around it; no stack is needed beside the tape.
        tokens.append(TapeToken(kind, offset: around.members, length: around.start + 1))
        depth += 1
    }

    /// Makes the container around the innermost one the current one. The innermost one's token is still as it was opened.
    mutating func leave() {
        let opened = tokens[current.start]
        let start = opened.length - 1
        let kind: ContainerKind = start >= 0 && tokens[start].kind == .dictionary ? .dictionary : .array
        current = Frame(start: start, members: opened.memberCount, kind: kind)
        depth -= 1
    }

    /// Closes the innermost container.
    public mutating func end(at offset: Int) throws(WireFormatError) {
        let closed = current
        leave()
        let kind: TapeToken.Kind = closed.kind == .array ? .array : .dictionary
        tokens[closed.start] = TapeToken(kind, offset: closed.members, length: tokens.count - closed.start)
        tokens.append(TapeToken(.end))
        if closed.kind == .dictionary, closed.members > 1 { try checkKeys(of: closed.start, at: offset) }
    }

    private mutating func checkKeys(of dictionary: Int, at offset: Int) throws(WireFormatError) {
        let isUnique = duplicates.check(tokens, dictionary: dictionary, input: input, side: side)
        if !isUnique, limits.duplicateKeys == .refuse {
            throw failure(.duplicateKey, "a key occurs twice in one dictionary", at: offset)
        }
    }

    public consuming func finish() -> Tape {
        let whole = Tape(tokens: tokens.finish(), input: input, side: side, droppedDuplicates: 0)
        return duplicates.found.isEmpty ? whole : duplicates.resolve(whole)
    }
}

extension TapeBuilder {
    struct Frame {
        var start: Int
        var members: Int
        var kind: ContainerKind

        init(start: Int, members: Int, kind: ContainerKind) {
            (self.start, self.members, self.kind) = (start, members, kind)
        }
    }
}
