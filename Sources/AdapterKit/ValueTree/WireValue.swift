/// One value, independent of any wire format.
///
/// Every reader produces it and every writer takes it, so whatever can be said in one format has one meaning in all of
/// them. A writer that cannot carry a case reports an error; it never substitutes another value.
///
/// Equality is exact: `1` and `1.0` differ, `int64(1)` and `uint64(1)` are equal (see ``==(_:_:)``), `-0.0` and `0.0`
/// differ, a NaN equals a NaN of the same bits, and strings and keys compare by their bytes, not by canonical
/// equivalence.
public enum WireValue: Sendable {
    case null
    case bool(Bool)
    case int64(Int64)
    /// Only for values above `Int64.max`; readers produce ``int64(_:)`` for everything that fits.
    case uint64(UInt64)
    case double(Double)
    /// A number that neither 64-bit integers nor doubles carry exactly. Indirect, because it is rare and would make
    /// every other value two thirds larger.
    indirect case decimal(WireDecimal)
    case string(String)
    case data([UInt8])
    /// An instant, in seconds since 2001-01-01T00:00:00Z (the property list epoch), with a double's full precision.
    case date(WireDate)
    case array([WireValue])
    case dictionary(WireDictionary)
    /// A keyed archiver's reference, which only binary property lists have.
    case uid(UInt64)
}

extension WireValue: Equatable {
    public static func == (left: WireValue, right: WireValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int64(let a), .int64(let b)): a == b
        case (.uint64(let a), .uint64(let b)): a == b
        case (.int64(let a), .uint64(let b)), (.uint64(let b), .int64(let a)): a >= 0 && UInt64(a) == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        case (.uid(let a), .uid(let b)): a == b
        default: false
        }
    }
}

extension String {
    /// Equality of the UTF-8 bytes. `==` would take `é` and `e` followed by U+0301 for the same text.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Without the copies that `withUTF8` needs; only a text bridged from elsewhere has no contiguous storage.
        let areEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                Self.areEqual(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        return (areEqual ?? nil) ?? left.elementsEqual(right)
    }

    /// Of equal length; eight bytes at a time, the last eight once more where they are no multiple.
    @inlinable
    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count >= 8 else { return left.elementsEqual(right) }
        for offset in stride(from: 0, to: left.count - 8, by: 8) where !haveSameWord(left, right, at: offset) {
            return false
        }
        return haveSameWord(left, right, at: left.count - 8)
    }

    @inlinable
    static func haveSameWord(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, at offset: Int
    ) -> Bool {
        left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}
