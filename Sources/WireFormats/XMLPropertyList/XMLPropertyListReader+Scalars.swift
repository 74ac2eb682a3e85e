import ValueTree

extension XMLPropertyListReader {
    mutating func readScalar(_ element: XMLPropertyListElement, _ text: Span<UInt8>) throws(WireFormatError) {
        let start = scanner.position
        let words = try scanner.takeScalarText(text)
        switch element {
        case .integer: try builder.scalar(try integer(words, at: start), at: start)
        case .real: try builder.scalar(try real(words, at: start), at: start)
        case .date: try builder.scalar(try date(words, at: start), at: start)
        case .data: try readData(words, at: start)
        case .true, .false:
            guard words.isEmpty else { throw builder.failure(.malformed, "text in a boolean", at: start) }
            try builder.scalar(TapeToken(element == .true ? .true : .false), at: start)
        case .plist, .dict, .key, .array, .string: throw malformed("`plist` inside of a property list")
        }
    }

    private func integer(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        guard let number = XMLNumbers.Integer(words) else {
            throw builder.failure(.malformed, "an integer is malformed", at: offset)
        }
        switch number {
        case .int64(let value): return TapeToken(.int64, bits: UInt64(bitPattern: value))
        case .uint64(let value): return TapeToken(.uint64, bits: value)
        case .larger: throw builder.failure(.refused, "an integer is beyond 64 bits", at: offset)
        }
    }

    private func real(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        switch XMLNumbers.Real(words) {
        case .double(let number): return TapeToken(.double, bits: number.bitPattern)
        case .outOfRange: throw builder.failure(.refused, "a real is beyond the range of a double", at: offset)
        case nil: throw builder.failure(.malformed, "a real is malformed", at: offset)
        }
    }

    private func date(_ words: [UInt8], at offset: Int) throws(WireFormatError) -> TapeToken {
        guard let instant = WireDate(rfc3339: String(decoding: words, as: UTF8.self)) else {
            throw builder.failure(.malformed, "a date is malformed", at: offset)
        }
        return TapeToken(.date, bits: instant.secondsSinceReferenceDate.bitPattern)
    }

    private mutating func readData(_ words: [UInt8], at offset: Int) throws(WireFormatError) {
        let digits = words.contains(where: XMLCharacters.isSpace) ? words.filter { !XMLCharacters.isSpace($0) } : words
        guard let data = Base64.decode(digits) else {
            throw builder.failure(.malformed, "data is not strict base64", at: offset)
        }
        try builder.bytes(builder.aside(.data, data), at: offset)
    }
}
