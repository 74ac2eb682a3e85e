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

    /// Creates a tape builder with these values.
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
    /// Whether there is no token yet.
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

    /// Adds the key of the next member. Throws for a key that is there already, where duplicates are refused.
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

    /// Begins a list or a dictionary. Throws beyond the limit of depth.
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

    /// The tape of the whole document.
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

/// What a document may spend, and the errors for more.
extension TapeBuilder {
    /// An error at a position of the input.
    public func failure(_ kind: WireFormatError.Kind, _ message: String, at offset: Int) -> WireFormatError {
        let place =
            positions == .text
            ? WireFormatError.Position(offset: offset, in: input) : WireFormatError.Position(offset: offset)
        return WireFormatError(kind, message, at: place)
    }

    @inline(__always)
    mutating func countValue(at offset: Int) throws(WireFormatError) {
        current.members &+= 1
        if tokens.count >= valueLimit { throw tooManyValues(at: offset) }
    }

    func tooManyValues(at offset: Int) -> WireFormatError {
        exceeded("values", limits.values, at: offset)
    }

    @inline(__always)
    mutating func countBytes(_ count: Int, at offset: Int) throws(WireFormatError) {
        remainingBytes &-= count
        if remainingBytes < 0 { throw tooManyBytes(at: offset) }
    }

    func tooManyBytes(at offset: Int) -> WireFormatError {
        exceeded("expanded bytes", limits.expandedBytes, at: offset)
    }

    func exceeded(_ what: String, _ limit: Int, at offset: Int) -> WireFormatError {
        failure(.limitExceeded, "the document exceeds the limit of \(limit) (\(what))", at: offset)
    }
}

/// For formats that write a scalar as a container, which is known as such only at its end.
extension TapeBuilder {
    /// The number of the innermost dictionary's only member, where that has the key and a number of 0 or more.
    func soleInteger(ofKey key: StaticString) -> UInt64? {
        guard current.members == 1, tokens.count == current.start + 3 else { return nil }
        let (name, value) = (tokens[current.start + 1], tokens[current.start + 2])
        guard value.kind == .uint64 || value.kind == .int64 && value.int64 >= 0, name.storage != .jsonEscaped,
            name.length == key.utf8CodeUnitCount
        else { return nil }
        let text = name.storage == .side ? side : input
        let isKey = (0..<name.length).allSatisfy { text[name.offset + $0] == key.utf8Start[$0] }
        return isKey ? value.uint64 : nil
    }

    /// Closes the innermost container and puts a scalar in its place.
    mutating func replaceContainer(with token: TapeToken) {
        let start = current.start
        leave()
        tokens.removeLast(tokens.count - start)
        duplicates.forgetShapes()
        tokens.append(token)
    }
}

/// The growing tokens of a tape under construction. All unsafe writing of tokens is in this file.
struct TokenBuffer: ~Copyable {
    var base: UnsafeMutablePointer<TapeToken>
    var capacity: Int
    var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 8)
        base = .allocate(capacity: self.capacity)
    }

    deinit { base.deallocate() }

    @inline(__always)
    mutating func append(_ token: TapeToken) {
        if _slowPath(count == capacity) { grow() }
        (base + count).initialize(to: token)
        count &+= 1
    }

    @inline(never)
    mutating func grow() {
        let moved = UnsafeMutablePointer<TapeToken>.allocate(capacity: capacity * 2)
        moved.moveInitialize(from: base, count: count)
        base.deallocate()
        (base, capacity) = (moved, capacity * 2)
    }

    subscript(position: Int) -> TapeToken {
        get {
            precondition(position >= 0 && position < count, "no such token")
            return base[position]
        }
        set {
            precondition(position >= 0 && position < count, "no such token")
            base[position] = newValue
        }
    }

    mutating func removeLast(_ number: Int) {
        precondition(number >= 0 && number <= count, "fewer tokens than are removed")
        count -= number
    }

    func withUnsafeBufferPointer<Result>(_ body: (UnsafeBufferPointer<TapeToken>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: base, count: count))
    }

    consuming func finish() -> TapeTokens {
        let storage = TapeTokens.Storage(base: base, count: count)
        discard self
        return TapeTokens(storage)
    }
}
