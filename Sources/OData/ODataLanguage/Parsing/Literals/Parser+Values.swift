/// Values as payloads, headers and CSDL have them: nothing percent-encoded, no quotes. Section 7 of the ABNF.
extension Parser {
    /// `booleanValue`
    mutating func booleanValue() throws(Mismatch) -> Bool {
        if skip(word: "true", ignoringCase: false) { return true }
        try expect(word: "false", ignoringCase: false)
        return false
    }

    mutating func nullLiteral() throws(Mismatch) -> Literal {
        try expect(word: "null", ignoringCase: false)
        return .null
    }

    /// `enumLiteral`, whose type may be left out since 4.01.
    mutating func optionallyTypedEnumeration() throws(Mismatch) -> Literal {
        if peek() != UInt8(ascii: "'") { return try enumeration() }
        return .enumeration(
            WrittenName(nil, ""), members: try quoted { parser throws(Mismatch) in try parser.enumerationMembers() })
    }

    /// `primitiveValue`: the first kind that takes all of the text.
    mutating func primitiveValue() throws(Mismatch) -> Literal {
        for kind in ValueKind.allCases {
            if let value = try attempt({ parser throws(Mismatch) in
                let value = try parser.value(of: kind)
                guard parser.isAtEnd else { throw parser.mismatch("the end") }
                return value
            }) {
                return value
            }
        }
        throw mismatch("a value")
    }

    private enum ValueKind: CaseIterable {
        case boolean, guid, duration, dateTimeOffset, date, timeOfDay, number, enumeration, shape, binary
    }

    private mutating func value(of kind: ValueKind) throws(Mismatch) -> Literal {
        switch kind {
        case .boolean: .boolean(try booleanValue())
        case .guid: try guid()
        case .duration: try duration()
        case .dateTimeOffset: try dateTimeOffset()
        case .date: try date()
        case .timeOfDay: try timeOfDay()
        case .number: try number()
        case .enumeration: .enumeration(WrittenName(nil, ""), members: try enumerationMembers())
        case .shape: .geography(try shapeWithSRID())
        case .binary: .binary(try binaryValue())
        }
    }
}
