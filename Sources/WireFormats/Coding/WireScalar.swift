import ValueTree

/// A Swift type that is one value of the tree, no container. The coders treat these before they ask a type to encode or
/// decode itself.
protocol WireScalar {
    /// Nil where the value has no place in the tree.
    var wireValue: WireValue? { get }
    /// Nil where the value is of another kind or out of range.
    init?(wireValue: WireValue)
}

extension WireScalar where Self: FixedWidthInteger {
    var wireValue: WireValue? {
        Int64(exactly: self).map(WireValue.int64) ?? UInt64(exactly: self).map(WireValue.uint64)
    }

    /// A double is never taken for an integer, not even `1.0`.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .int64(let number): self.init(exactly: number)
        case .uint64(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension Int: WireScalar {}
extension Int8: WireScalar {}
extension Int16: WireScalar {}
extension Int32: WireScalar {}
extension Int64: WireScalar {}
extension UInt: WireScalar {}
extension UInt8: WireScalar {}
extension UInt16: WireScalar {}
extension UInt32: WireScalar {}
extension UInt64: WireScalar {}

extension Bool: WireScalar {
    var wireValue: WireValue? { .bool(self) }
    init?(wireValue: WireValue) {
        guard let flag = wireValue.boolValue else { return nil }
        self = flag
    }
}

extension String: WireScalar {
    var wireValue: WireValue? { .string(self) }
    init?(wireValue: WireValue) {
        guard let text = wireValue.stringValue else { return nil }
        self = text
    }
}

extension Double: WireScalar {
    var wireValue: WireValue? { .double(self) }

    /// Integers where they are exact; a decimal becomes the nearest double.
    init?(wireValue: WireValue) {
        if case .decimal(let number) = wireValue {
            self.init(number.description)
        } else {
            guard let number = wireValue.doubleValue else { return nil }
            self = number
        }
    }
}

extension Float: WireScalar {
    var wireValue: WireValue? { .double(Double(self)) }

    /// Rounded to the nearest; nil where a finite number is out of range.
    init?(wireValue: WireValue) {
        guard let number = Double(wireValue: wireValue) else { return nil }
        self.init(number)
        guard isFinite || !number.isFinite else { return nil }
    }
}

extension WireDate: WireScalar {
    var wireValue: WireValue? { .date(self) }

    /// A date, or RFC 3339 text.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .date(let instant): self = instant
        case .string(let text): self.init(rfc3339: text)
        default: return nil
        }
    }
}

extension WireDecimal: WireScalar {
    var wireValue: WireValue? { .decimal(self) }

    /// Any finite number, or its digits as text, as property lists have them.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .decimal(let number): self = number
        case .int64(let number): self.init(number)
        case .uint64(let number): self.init(number)
        case .double(let number): self.init(number.description)
        case .string(let digits): self.init(digits)
        default: return nil
        }
    }
}

extension WireValue: WireScalar {
    var wireValue: WireValue? { self }
    init?(wireValue: WireValue) { self = wireValue }
}
