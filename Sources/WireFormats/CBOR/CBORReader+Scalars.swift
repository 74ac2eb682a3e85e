import ValueTree

extension CBORReader {
    mutating func readInteger(_ head: Head) throws(WireFormatError) {
        if head.argument <= UInt64(Int64.max) {
            let number = head.major == 0 ? Int64(head.argument) : -1 - Int64(head.argument)
            try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: number)), at: head.start)
        } else if head.major == 0 {
            try builder.scalar(TapeToken(.uint64, bits: head.argument), at: head.start)
        } else {
            try appendDecimal(integerText(head), head)
        }
    }

    /// The integer of an item of major type 0 or 1 in digits.
    func integerText(_ head: Head) -> String {
        guard head.major == 1 else { return String(head.argument) }
        return head.argument == .max ? "-18446744073709551616" : "-\(head.argument + 1)"
    }

    mutating func appendDecimal(_ text: String, _ head: Head) throws(WireFormatError) {
        guard WireDecimal(text) != nil else {
            throw builder.failure(.limitExceeded, "a number has too many digits", at: head.start)
        }
        try builder.bytes(builder.aside(.decimal, text.utf8), at: head.start)
    }

    mutating func readSimple(_ head: Head) throws(WireFormatError) {
        switch head.information {
        case 20: try builder.scalar(TapeToken(.false), at: head.start)
        case 21: try builder.scalar(TapeToken(.true), at: head.start)
        case 22: try builder.scalar(TapeToken(.null), at: head.start)
        case 25...27: try builder.scalar(TapeToken(.double, bits: float(head).bitPattern), at: head.start)
        default: throw try simpleFailure(head)
        }
    }

    private func simpleFailure(_ head: Head) throws(WireFormatError) -> WireFormatError {
        if head.information == 24, head.argument < 32 { throw malformed("a simple value in two bytes", at: head.start) }
        return builder.failure(.refused, "a simple value that has no place in the value tree", at: head.start)
    }

    /// The number of a float's head.
    func float(_ head: Head) -> Double {
        switch head.information {
        case 25: HalfFloat.double(UInt16(head.argument))
        case 26: Double(Float(bitPattern: UInt32(head.argument)))
        default: Double(bitPattern: head.argument)
        }
    }

    /// A text or byte string; chunks of an indefinite length are put together at the side.
    mutating func takeString(
        _ kind: TapeToken.Kind, _ head: Head, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> TapeToken {
        guard head.isIndefinite else {
            let range = try takeChunk(head, bytes)
            return TapeToken(kind, offset: range.lowerBound, length: range.count)
        }
        var whole: [UInt8] = []
        while true {
            guard position < bytes.count else { throw malformed("the document ends too early", at: position) }
            if bytes[position] == 0xFF { break }
            let chunk = try takeHead(bytes)
            guard chunk.major == head.major, !chunk.isIndefinite else {
                throw malformed("a chunk of another kind than its string", at: chunk.start)
            }
            whole += builder.input[try takeChunk(chunk, bytes)]
        }
        position += 1
        return builder.aside(kind, whole)
    }

    private mutating func takeChunk(_ head: Head, _ bytes: Span<UInt8>) throws(WireFormatError) -> Range<Int> {
        guard head.argument <= UInt64(bytes.count - position) else {
            throw malformed("a string is longer than the document", at: head.start)
        }
        let range = position..<position + Int(head.argument)
        if head.major == 3, !SWAR.isASCII(bytes, range), let wrong = UTF8Text.firstInvalid(bytes, in: range) {
            throw malformed("a string is not valid UTF-8", at: wrong)
        }
        position = range.upperBound
        return range
    }
}
