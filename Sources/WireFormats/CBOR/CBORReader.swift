import ValueTree

/// Reads one CBOR document onto a tape, with a stack of its own.
struct CBORReader: ~Copyable {
    /// An open container; `remaining` is nil for an indefinite length.
    private struct Frame {
        let isMap: Bool
        var remaining: Int?
    }

    /// An item's initial byte and argument.
    struct Head {
        let major: UInt8
        let information: UInt8
        let argument: UInt64
        let start: Int

        var isIndefinite: Bool { information == 31 }
    }

    var builder: TapeBuilder
    var position = 0
    private var frames: [Frame] = []

    init(_ input: [UInt8], limits: ReadingLimits) {
        builder = TapeBuilder(input: input, limits: limits, positions: .binary)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) {
        var head = try takeHead(bytes)
        if head.major == 6, head.argument == CBORTag.selfDescribed { head = try takeHead(bytes) }
        try readItem(head, bytes)
        while let frame = frames.last {
            if try isAtEnd(frame, bytes) {
                try builder.end(at: position)
                frames.removeLast()
                continue
            }
            if let remaining = frame.remaining { frames[frames.count - 1].remaining = remaining - 1 }
            if frame.isMap { try readKey(bytes) }
            try readItem(try takeHead(bytes), bytes)
        }
        guard position == bytes.count else { throw malformed("something follows the value", at: position) }
    }

    private mutating func isAtEnd(_ frame: Frame, _ bytes: Span<UInt8>) throws(WireFormatError) -> Bool {
        if let remaining = frame.remaining { return remaining == 0 }
        guard position < bytes.count else { throw malformed("the document ends too early", at: position) }
        guard bytes[position] == 0xFF else { return false }
        position += 1
        return true
    }

    private mutating func readKey(_ bytes: Span<UInt8>) throws(WireFormatError) {
        let head = try takeHead(bytes)
        guard head.major == 3 else {
            throw builder.failure(.refused, "a key that is not text has no place in the value tree", at: head.start)
        }
        try builder.key(try takeString(.key, head, bytes), at: head.start)
    }

    private mutating func readItem(_ head: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        switch head.major {
        case 0, 1: try readInteger(head)
        case 2: try builder.bytes(try takeString(.data, head, bytes), at: head.start)
        case 3: try builder.bytes(try takeString(.string, head, bytes), at: head.start)
        case 4: try begin(.array, head, bytes)
        case 5: try begin(.dictionary, head, bytes)
        case 6: try readTagged(head, bytes)
        default: try readSimple(head)
        }
    }

    private mutating func begin(
        _ container: ContainerKind, _ head: Head, _ bytes: Span<UInt8>
    ) throws(WireFormatError) {
        let room = UInt64(bytes.count - position) / (container == .array ? 1 : 2)
        guard head.isIndefinite || head.argument <= room else {
            throw malformed("a container is longer than the document", at: head.start)
        }
        try builder.begin(container, at: head.start)
        frames.append(Frame(isMap: container == .dictionary, remaining: head.isIndefinite ? nil : Int(head.argument)))
    }

    mutating func takeHead(_ bytes: Span<UInt8>) throws(WireFormatError) -> Head {
        let start = position
        guard start < bytes.count else { throw malformed("the document ends too early", at: start) }
        let (major, information) = (bytes[start] >> 5, bytes[start] & 31)
        position += 1
        guard information >= 24 else { return Head(major, information, UInt64(information), start) }
        if information == 31, (2...5).contains(major) { return Head(major, information, 0, start) }
        guard information < 28 else { throw malformed("a reserved or misplaced initial byte", at: start) }
        let width = 1 << Int(information - 24)
        guard position + width <= bytes.count else { throw malformed("the document ends too early", at: start) }
        defer { position += width }
        return Head(major, information, bytes.bigEndian(at: position, width: width), start)
    }

    func malformed(_ message: String, at offset: Int) -> WireFormatError {
        builder.failure(.malformed, message, at: offset)
    }
}

extension CBORReader.Head {
    init(_ major: UInt8, _ information: UInt8, _ argument: UInt64, _ start: Int) {
        self.init(major: major, information: information, argument: argument, start: start)
    }
}

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
            // A date that no format carries, so that the shape's check can name its field.
            let magnitude = Int(exactly: head.argument) ?? .max
            try append(WireDate(secondsSince1970: head.major == 0 ? magnitude : ~magnitude, nanoseconds: 0), tag)
        case (7, 25...27) where float(head).isFinite: try append(WireDate(secondsSince1970: float(head)), tag)
        default: throw malformed("a date's number is expected", at: head.start)
        }
    }

    private mutating func append(_ date: WireDate, _ tag: Head) throws(WireFormatError) {
        try builder.scalar(TapeToken(date: date), at: tag.start)
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
