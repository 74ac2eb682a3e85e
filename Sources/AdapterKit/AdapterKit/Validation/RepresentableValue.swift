// What a record or a call may hold: values that every wire format carries, so that no value of one caller makes an
// answer to another one unsendable. `docs/formats.md` has the table.

/// Limits of values that are not declared in detail.
public enum RepresentableValue {
    /// The deepest nesting of an undeclared value. Writers allow 512 levels, so that what stands around a record (a page,
    /// a batch of pages) has room.
    public static let maximumDepth = 500
}

extension String {
    func validateRepresentable() throws(Violation) {
        guard isRepresentableInEveryFormat else {
            throw Violation(
                "must hold no control characters but tab, line feed and carriage return, and neither U+FFFE nor U+FFFF")
        }
    }
}

extension WireDate {
    private static let first = WireDate(secondsSinceReferenceDate: -63_145_526_400)
    private static let last = WireDate(secondsSinceReferenceDate: 252_423_993_599)

    /// Years 0000 to 9999: others have no RFC 3339 text.
    func validateRepresentable() throws(Violation) {
        guard isInCalendar else { throw Violation("must be an instant of the years 0000 to 9999") }
    }

    var replacement: WireDate { isInCalendar ? self : self < Self.first ? Self.first : Self.last }
}

extension WireDecimal {
    func validateRepresentable() throws(Violation) {
        guard isRepresentableInEveryFormat else {
            throw Violation("must be a number of a size that every format carries")
        }
    }

    /// Zero for what is too small, the whole part or the largest integer for what is too large.
    var replacement: WireDecimal {
        if isRepresentableInEveryFormat { return self }
        let sign = isNegative ? "-" : ""
        if exponent >= 0 { return WireDecimal("\(sign)1e\(Self.maximumDigits - 1)") ?? self }
        return WireDecimal(sign + String(digits.dropLast(-exponent))) ?? WireDecimal(Int64(0))
    }
}

extension WireValue {
    /// Checks a value without a declared shape.
    func validateRepresentable(depth: Int = 1) throws(Violation) {
        switch self {
        case .null, .bool, .int64, .uint64, .data: return
        case .double(let number):
            // JSON has no infinities and no NaN.
            guard number.isFinite else { throw Violation("must be a finite number") }
        case .decimal(let number): try number.validateRepresentable()
        case .string(let text): try text.validateRepresentable()
        case .date(let instant): try instant.validateRepresentable()
        case .uid: throw Violation("must not be a keyed archiver's reference")
        case .array(let items): try Self.validateRepresentable(items, depth)
        case .dictionary(let members): try Self.validateRepresentable(members, depth)
        }
    }

    private static func validateRepresentable(_ items: [WireValue], _ depth: Int) throws(Violation) {
        try examineDepth(depth)
        for (position, item) in items.enumerated() {
            // A property list leaves a null member out, which it cannot do with an item.
            if item.isNull { throw Violation("must not be null in a list").below(position) }
            do { try item.validateRepresentable(depth: depth + 1) } catch { throw error.below(position) }
        }
    }

    private static func validateRepresentable(_ members: WireDictionary, _ depth: Int) throws(Violation) {
        try examineDepth(depth)
        for member in members {
            do {
                try member.key.validateRepresentable()
                try member.value.validateRepresentable(depth: depth + 1)
            } catch { throw error.below(member.key.replacedForEveryFormat) }
        }
        guard members.count == 1, let number = members["CF$UID"] else { return }
        switch number {
        case .int64(0...), .uint64, .decimal, .uid: throw Violation("would read as a reference in a property list")
        default: return
        }
    }

    private static func examineDepth(_ depth: Int) throws(Violation) {
        guard depth <= RepresentableValue.maximumDepth else {
            throw Violation("must be nested at most \(RepresentableValue.maximumDepth) levels deep")
        }
    }
}

extension WireValue {
    /// The nearest value that every wire format carries: this one where it is such a value already.
    ///
    /// For values that were stored before what some format cannot carry was refused. In texts and keys U+FFFD takes a
    /// character's place; instants, decimals and infinities come to the end of what is carried. A NaN becomes a text, a
    /// keyed archiver's reference its number. A null in a list goes, as does what is nested too deep.
    public var replacedForEveryFormat: WireValue {
        (try? validateRepresentable()) == nil ? replacement(depth: 1) : self
    }

    fileprivate func replacement(depth: Int) -> WireValue {
        switch self {
        case .null, .bool, .int64, .uint64, .data: return self
        case .string(let text): return .string(text.replacedForEveryFormat)
        case .double(let number):
            if number.isNaN { return "NaN" }
            let most = Double.greatestFiniteMagnitude
            return .double(min(max(number, -most), most))
        case .decimal(let number): return .decimal(number.replacement)
        case .date(let instant): return .date(instant.replacement)
        case .uid(let number): return Int64(exactly: number).map(WireValue.int64) ?? .uint64(number)
        case .array(let items):
            guard depth <= RepresentableValue.maximumDepth else { return .null }
            return .array(items.map { $0.replacement(depth: depth + 1) }.filter { !$0.isNull })
        case .dictionary(let members):
            guard depth <= RepresentableValue.maximumDepth else { return .null }
            return .dictionary(members.replacement(depth: depth))
        }
    }
}

extension WireDictionary {
    fileprivate func replacement(depth: Int) -> WireDictionary {
        var replaced = WireDictionary()
        for member in self {
            var key = member.key.replacedForEveryFormat
            // Two keys may have become one; and a lone `CF$UID` would read as a reference in a property list.
            while replaced[key] != nil || (count == 1 && key.hasSameBytes(as: "CF$UID")) { key += "_" }
            replaced[key] = member.value.replacement(depth: depth + 1)
        }
        return replaced
    }
}
