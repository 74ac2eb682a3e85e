import ValueTree

/// A validated document as a flat array of tokens that point into its bytes. It holds the input, no Strings.
///
/// A reader promises of a tape: it is one whole value, containers are closed and counted, all text is valid, no
/// dictionary has two equal keys. So a reader of it need not check anything again.
public struct Tape: Sendable {
    /// The tokens in the document's order.
    public let tokens: TapeTokens
    /// The document as it came.
    public let input: [UInt8]
    /// Text and data that were resolved while reading: references, base64, chunks put together.
    public let side: [UInt8]
    /// How many members were dropped for ``DuplicateKeyPolicy/keepLast``.
    public let droppedDuplicates: Int
    /// Which token of the document each token was, where some were dropped.
    var origins: [Int] = []

    /// The position after the value that starts at `position` (for a key: after its value).
    public func position(after position: Int) -> Int {
        let token = tokens[position]
        switch token.kind {
        case .array, .dictionary: return position + token.length + 1
        case .key: return self.position(after: position + 1)
        default: return position + 1
        }
    }
}

extension Tape {
    /// The UTF-8 of a string, a key or a decimal, or the bytes of data, escapes resolved. Valid inside `body` only.
    public func withBytes<Result>(
        of token: TapeToken, _ body: (UnsafeBufferPointer<UInt8>) throws(WireFormatError) -> Result
    ) throws(WireFormatError) -> Result {
        let range = token.offset..<token.offset + token.length
        return switch token.storage {
        case .input: try input.span.extracting(range).withUnsafeBufferPointer(body)
        case .side: try side.span.extracting(range).withUnsafeBufferPointer(body)
        case .jsonEscaped, .utf16: try resolved(token).span.withUnsafeBufferPointer(body)
        }
    }

    /// The text of a string token.
    public func string(of token: TapeToken) -> String {
        do {
            return try withBytes(of: token) { bytes throws(WireFormatError) in String(decoding: bytes, as: UTF8.self) }
        } catch { preconditionFailure("the body does not throw") }
    }

    private func resolved(_ token: TapeToken) -> [UInt8] {
        let range = token.offset..<token.offset + token.length
        return token.storage == .utf16 ? UTF16Text.utf8(input[range]) : JSONText.unescaped(input[range])
    }
}

/// One entry of a ``Tape``: 16 bytes.
///
///     head:     kind (8 bits) · storage (8 bits) · length (48 bits)
///     payload:  64 bits
///
/// | kind | length | payload |
/// |---|---|---|
/// | null, false, true | – | – |
/// | int64, uint64, double, uid | – | the number's bits |
/// | date | attoseconds beyond the payload | steps of 100 ns since 2001 |
/// | decimal, string, key, data | bytes as stored | offset in its storage |
/// | array, dictionary | tokens from here to its `end` | number of members |
/// | end | – | – |
public struct TapeToken: Sendable {
    /// What a token stands for.
    public enum Kind: UInt8, Sendable {
        /// The constants.
        case null, `false`, `true`
        /// The numbers.
        case int64, uint64, double, decimal
        /// The other single values.
        case string, data, date, uid
        /// The containers.
        case array, dictionary
        /// A member's name; its value follows.
        case key
        /// Closes the innermost array or dictionary.
        case end
    }

    /// Where the bytes of a decimal, a string, a key or data are, and in which form.
    public enum Storage: UInt8, Sendable {
        /// In the input, as they are: UTF-8 for text.
        case input
        /// In the tape's side buffer, as they are: what a reader had to resolve while it validated.
        case side
        /// In the input, UTF-8 with the escapes of JSON, already validated.
        case jsonEscaped
        /// In the input, big-endian UTF-16, already validated.
        case utf16
    }

    @usableFromInline var head: UInt64
    @usableFromInline var payload: UInt64

    @inlinable @inline(__always)
    /// Creates a tape token with these values.
    public init(_ kind: Kind, bits: UInt64 = 0) {
        head = UInt64(kind.rawValue)
        payload = bits
    }

    @inlinable @inline(__always)
    /// Creates a tape token with these values.
    public init(_ kind: Kind, offset: Int, length: Int, storage: Storage = .input) {
        head =
            UInt64(kind.rawValue) | UInt64(storage.rawValue) &<< 8 | UInt64(truncatingIfNeeded: length) &<< 16
        payload = UInt64(truncatingIfNeeded: offset)
    }

    /// The token of a date.
    init(date: WireDate) {
        self.init(.date, bits: UInt64(bitPattern: date.ticks))
        head |= UInt64(truncatingIfNeeded: date.attoseconds) &<< 16
    }

    /// The instant of a `date` token.
    public var date: WireDate { WireDate(ticks: int64, attosecondsBeyond: Int64(head &>> 16)) }

    @inlinable @inline(__always)
    /// What the token stands for.
    public var kind: Kind { unsafeBitCast(UInt8(truncatingIfNeeded: head), to: Kind.self) }
    @inlinable @inline(__always)
    /// Where the token's bytes are.
    public var storage: Storage { unsafeBitCast(UInt8(truncatingIfNeeded: head &>> 8), to: Storage.self) }
    /// Stored bytes, or the tokens of a container up to its `end`.
    @inlinable @inline(__always)
    public var length: Int { Int(truncatingIfNeeded: head &>> 16) }
    @inlinable @inline(__always)
    /// Where the token's bytes begin.
    public var offset: Int { Int(truncatingIfNeeded: payload) }
    /// The members of a container.
    @inlinable @inline(__always)
    public var memberCount: Int { Int(truncatingIfNeeded: payload) }

    @inlinable @inline(__always)
    /// The number of an `int64` token.
    public var int64: Int64 { Int64(bitPattern: payload) }
    @inlinable @inline(__always)
    /// The number of a `uint64` token.
    public var uint64: UInt64 { payload }
    @inlinable @inline(__always)
    /// The number of a `double` token.
    public var double: Double { Double(bitPattern: payload) }

    @inlinable @inline(__always)
    /// Whether the token begins a list or a dictionary.
    public var isContainer: Bool { kind == .array || kind == .dictionary }
}

/// The tokens of a finished tape.
///
/// A type of its own instead of `[TapeToken]`, because an array checks its uniqueness and its bounds at every append,
/// which costs a reader of JSON a tenth of its time; and what was appended is handed over here without a copy.
public struct TapeTokens: RandomAccessCollection, Sendable {
    @usableFromInline let storage: Storage

    init(_ storage: Storage) { self.storage = storage }

    public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { storage.count }

    /// The token at a position. The caller makes sure that it is there.
    @inlinable
    public subscript(position: Int) -> TapeToken {
        precondition(position >= 0 && position < storage.count, "no such token")
        return storage.base[position]
    }

    /// Valid inside `body` only.
    @inlinable
    public func withUnsafeBufferPointer<Result>(_ body: (UnsafeBufferPointer<TapeToken>) -> Result) -> Result {
        withExtendedLifetime(storage) {
            body(UnsafeBufferPointer(start: storage.base, count: storage.count))
        }
    }

    /// Owns the memory of a ``TokenBuffer`` that is finished.
    ///
    /// Unchecked, because a pointer is not `Sendable`; nothing writes through it any more, and only `deinit` frees it.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        @usableFromInline let base: UnsafeMutablePointer<TapeToken>
        @usableFromInline let count: Int

        init(base: UnsafeMutablePointer<TapeToken>, count: Int) {
            (self.base, self.count) = (base, count)
        }

        deinit { base.deallocate() }
    }
}

extension Tape {
    /// The tree of the whole document. Depth is bounded by the limits it was read with.
    public func value() -> WireValue { value(at: 0) }

    /// The tree of the value that starts at `position`.
    public func value(at position: Int) -> WireValue {
        input.withUnsafeBufferPointer { input in
            tokens.withUnsafeBufferPointer { tokens in
                var builder = TreeBuilder(tape: self, tokens: tokens, input: input, position: position)
                return builder.takeValue()
            }
        }
    }

    func scalar(_ token: TapeToken) -> WireValue {
        switch token.kind {
        case .decimal: .decimal(decimal(of: token))
        case .string: .string(string(of: token))
        case .data: .data(data(of: token))
        default: Self.number(token)
        }
    }

    /// The value of a token that needs no bytes.
    static func number(_ token: TapeToken) -> WireValue {
        switch token.kind {
        case .null: .null
        case .false: .bool(false)
        case .true: .bool(true)
        case .int64: .int64(token.int64)
        case .uint64: .uint64(token.uint64)
        case .double: .double(token.double)
        case .date: .date(token.date)
        case .uid: .uid(token.uint64)
        default: preconditionFailure("not a number")
        }
    }

    /// A decimal token's number; readers put only numbers on the tape that ``WireDecimal`` takes.
    public func decimal(of token: TapeToken) -> WireDecimal {
        guard let number = WireDecimal(string(of: token)) else { preconditionFailure("not a decimal on the tape") }
        return number
    }

    /// The bytes of a data token.
    public func data(of token: TapeToken) -> [UInt8] {
        let range = token.offset..<token.offset + token.length
        return [UInt8](token.storage == .side ? side[range] : input[range])
    }
}
