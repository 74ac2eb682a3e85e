import ValueTree

extension CBORReader {
    mutating func readTagged(_ tag: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        switch tag.argument {
        case CBORTag.dateText: try readDateText(tag, bytes)
        case CBORTag.dateNumber: try readDateNumber(tag, bytes)
        case CBORTag.integer, CBORTag.negativeInteger:
            try appendInteger(try takeLargeInteger(tag, bytes), tag)
        case CBORTag.decimal: try readDecimal(tag, bytes)
        default: throw builder.failure(.refused, "a tag that has no place in the value tree", at: tag.start)
        }
    }

    private mutating func readDateText(_ tag: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let head = try takeHead(bytes)
        guard head.major == 3, !head.isIndefinite else { throw malformed("a date's text is expected", at: head.start) }
        let text = try takeString(.string, head, bytes)
        let content = String(decoding: builder.input[text.offset..<text.offset + text.length], as: UTF8.self)
        guard let date = WireDate(rfc3339: content) else {
            throw malformed("a date that is not RFC 3339", at: head.start)
        }
        try append(date, tag)
    }

    private mutating func readDateNumber(_ tag: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let head = try takeHead(bytes)
        switch (head.major, head.information) {
        case (0, _), (1, _):
            let offset = Int64(WireDate.unixEpochOffset)
            guard let seconds = Int64(integerText(head)),
                let exact = Double(exactly: seconds.subtractingClamped(offset))
            else { throw malformed("a date beyond the exact seconds of a double", at: head.start) }
            try append(WireDate(secondsSinceReferenceDate: exact), tag)
        case (7, 25...27) where float(head).isFinite: try append(WireDate(secondsSince1970: float(head)), tag)
        default: throw malformed("a date's number is expected", at: head.start)
        }
    }

    private mutating func append(_ date: WireDate, _ tag: Head) throws(WireFormatError) {
        let bits = date.secondsSinceReferenceDate.bitPattern
        try builder.scalar(TapeToken(.date, bits: bits), at: tag.start)
    }

    /// An integer written as a large one although it fits is the integer.
    private mutating func appendInteger(_ text: String, _ tag: Head) throws(WireFormatError) {
        if let number = Int64(text) {
            try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: number)), at: tag.start)
        } else if let number = UInt64(text) {
            try builder.scalar(TapeToken(.uint64, bits: number), at: tag.start)
        } else {
            try appendDecimal(text, tag)
        }
    }

    private mutating func takeLargeInteger(_ tag: Head, _ bytes: Span<UInt8>) throws(WireFormatError) -> String {
        let head = try takeHead(bytes)
        guard head.major == 2, !head.isIndefinite else {
            throw malformed("a large integer's bytes are expected", at: head.start)
        }
        let content = try takeString(.data, head, bytes)
        guard content.length <= LargeInteger.maximumBytes else {
            throw builder.failure(.limitExceeded, "a number has too many digits", at: head.start)
        }
        let magnitude = LargeInteger(bigEndian: builder.input[content.offset..<content.offset + content.length])
        return tag.argument == CBORTag.integer ? magnitude.digits : "-" + magnitude.adding(1).digits
    }

    /// `[exponent, mantissa]`
    private mutating func readDecimal(_ tag: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let array = try takeHead(bytes)
        guard array.major == 4, array.argument == 2, !array.isIndefinite else {
            throw malformed("a decimal's exponent and mantissa are expected", at: array.start)
        }
        let exponent = try takeHead(bytes)
        guard exponent.major < 2 else { throw malformed("a decimal's exponent is no integer", at: exponent.start) }
        let mantissa = try takeHead(bytes)
        switch (mantissa.major, mantissa.argument) {
        case (0, _), (1, _): try appendDecimal("\(integerText(mantissa))e\(integerText(exponent))", tag)
        case (6, CBORTag.integer), (6, CBORTag.negativeInteger):
            try appendDecimal("\(try takeLargeInteger(mantissa, bytes))e\(integerText(exponent))", tag)
        default: throw malformed("a decimal's mantissa is no integer", at: mantissa.start)
        }
    }
}

extension Int64 {
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? .min : difference
    }
}
