// What a record or a call may hold: values that every wire format carries, so that no value of one caller makes an
// answer to another one unsendable. `docs/formats.md` has the table.

/// Limits of values that are not declared in detail.
public enum CarriedValue {
    /// How deep an undeclared value may be nested. Writers allow 512 levels, so that what stands around a record (a page,
    /// a batch of pages) has room.
    public static let maximumDepth = 500
}

extension String {
    func examineCarried() throws(Violation) {
        guard isCarriedByEveryFormat else {
            throw Violation(
                "must hold no control characters but tab, line feed and carriage return, and neither U+FFFE nor U+FFFF")
        }
    }
}

extension WireDate {
    /// Years 0000 to 9999: others have no RFC 3339 text.
    private static let carried = -63_145_526_400.0..<252_423_993_600.0

    func examineCarried() throws(Violation) {
        guard Self.carried.contains(secondsSinceReferenceDate) else {
            throw Violation("must be an instant of the years 0000 to 9999")
        }
    }

    var replacement: WireDate {
        if Self.carried.contains(secondsSinceReferenceDate) { return self }
        return WireDate(
            secondsSinceReferenceDate: secondsSinceReferenceDate < 0
                ? Self.carried.lowerBound : Self.carried.upperBound - 1)
    }
}

extension WireDecimal {
    func examineCarried() throws(Violation) {
        guard isCarriedByEveryFormat else { throw Violation("must be a number of a size that every format carries") }
    }

    /// Zero for what is too small, the whole part or the largest integer for what is too large.
    var replacement: WireDecimal {
        if isCarriedByEveryFormat { return self }
        let sign = isNegative ? "-" : ""
        if exponent >= 0 { return WireDecimal("\(sign)1e\(Self.maximumDigits - 1)") ?? self }
        return WireDecimal(sign + String(digits.dropLast(-exponent))) ?? WireDecimal(Int64(0))
    }
}

extension WireValue {
    /// Of a value without a declared shape.
    func examineCarried(depth: Int = 1) throws(Violation) {
        switch self {
        case .null, .bool, .int64, .uint64, .data: return
        case .double(let number):
            // JSON has no infinities and no NaN.
            guard number.isFinite else { throw Violation("must be a finite number") }
        case .decimal(let number): try number.examineCarried()
        case .string(let text): try text.examineCarried()
        case .date(let instant): try instant.examineCarried()
        case .uid: throw Violation("must not be a keyed archiver's reference")
        case .array(let items): try Self.examineCarried(items, depth)
        case .dictionary(let members): try Self.examineCarried(members, depth)
        }
    }

    private static func examineCarried(_ items: [WireValue], _ depth: Int) throws(Violation) {
        try examineDepth(depth)
        for (position, item) in items.enumerated() {
            // A property list leaves a null member out, which it cannot do with an item.
            if item.isNull { throw Violation("must not be null in a list").below(position) }
            do { try item.examineCarried(depth: depth + 1) } catch { throw error.below(position) }
        }
    }

    private static func examineCarried(_ members: WireDictionary, _ depth: Int) throws(Violation) {
        try examineDepth(depth)
        for member in members {
            do {
                try member.key.examineCarried()
                try member.value.examineCarried(depth: depth + 1)
            } catch { throw error.below(member.key.carriedByEveryFormat) }
        }
        guard members.count == 1, let number = members["CF$UID"] else { return }
        switch number {
        case .int64(0...), .uint64, .decimal, .uid: throw Violation("would read as a reference in a property list")
        default: return
        }
    }

    private static func examineDepth(_ depth: Int) throws(Violation) {
        guard depth <= CarriedValue.maximumDepth else {
            throw Violation("must be nested at most \(CarriedValue.maximumDepth) levels deep")
        }
    }
}
