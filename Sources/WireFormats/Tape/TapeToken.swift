/// One entry of a ``Tape``: 16 bytes.
///
///     head:     kind (8 bits) · storage (8 bits) · length (48 bits)
///     payload:  64 bits
///
/// | kind | length | payload |
/// |---|---|---|
/// | null, false, true | – | – |
/// | int64, uint64, double, date, uid | – | the number's bits; a date's double counts from 2001 |
/// | decimal, string, key, data | bytes as stored | offset in its storage |
/// | array, dictionary | tokens from here to its `end` | number of members |
/// | end | – | – |
public struct TapeToken: Sendable {
    public enum Kind: UInt8, Sendable {
        case null, `false`, `true`
        case int64, uint64, double, decimal
        case string, data, date, uid
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
    public init(_ kind: Kind, bits: UInt64 = 0) {
        head = UInt64(kind.rawValue)
        payload = bits
    }

    @inlinable @inline(__always)
    public init(_ kind: Kind, offset: Int, length: Int, storage: Storage = .input) {
        head =
            UInt64(kind.rawValue) | UInt64(storage.rawValue) &<< 8 | UInt64(truncatingIfNeeded: length) &<< 16
        payload = UInt64(truncatingIfNeeded: offset)
    }

    @inlinable @inline(__always)
    public var kind: Kind { unsafeBitCast(UInt8(truncatingIfNeeded: head), to: Kind.self) }
    @inlinable @inline(__always)
    public var storage: Storage { unsafeBitCast(UInt8(truncatingIfNeeded: head &>> 8), to: Storage.self) }
    /// Stored bytes, or the tokens of a container up to its `end`.
    @inlinable @inline(__always)
    public var length: Int { Int(truncatingIfNeeded: head &>> 16) }
    @inlinable @inline(__always)
    public var offset: Int { Int(truncatingIfNeeded: payload) }
    /// The members of a container.
    @inlinable @inline(__always)
    public var memberCount: Int { Int(truncatingIfNeeded: payload) }

    @inlinable @inline(__always)
    public var int64: Int64 { Int64(bitPattern: payload) }
    @inlinable @inline(__always)
    public var uint64: UInt64 { payload }
    @inlinable @inline(__always)
    public var double: Double { Double(bitPattern: payload) }

    @inlinable @inline(__always)
    public var isContainer: Bool { kind == .array || kind == .dictionary }
}
