import ValueTree

/// Reads one JSON text onto a tape: a loop over values and what follows them, without recursion.
///
/// The input is passed as a `Span` to every function: it is bounds-checked, and the checks cost at most a tenth.
struct JSONReader: ~Copyable {
    var builder: TapeBuilder
    var position = 0

    init(_ input: [UInt8], limits: ReadingLimits) {
        builder = TapeBuilder(input: input, limits: limits, positions: .text)
    }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { position = 3 }
        repeat {
            if try readValue(text) { try readUntilNextValue(text) }
        } while builder.depth > 0
        if try nextCharacter(text) != 0 { throw malformed("something follows the value") }
    }

    consuming func finish() -> Tape { builder.finish() }

    /// Puts a scalar or an empty container on the tape, or opens a container (false: its first value comes next).
    private mutating func readValue(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        switch try nextCharacter(text) {
        case UInt8(ascii: "\""): try readString(text, .string)
        case UInt8(ascii: "{"): return try beginDictionary(text)
        case UInt8(ascii: "["): return try beginArray(text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        case UInt8(ascii: "t"): try readLiteral("true", .true, text)
        case UInt8(ascii: "f"): try readLiteral("false", .false, text)
        case UInt8(ascii: "n"): try readLiteral("null", .null, text)
        default: throw malformed("a value is expected", text)
        }
        return true
    }

    private mutating func beginArray(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        try builder.begin(.array, at: position)
        position += 1
        guard try nextCharacter(text) == UInt8(ascii: "]") else { return false }
        try end()
        return true
    }

    private mutating func beginDictionary(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        try builder.begin(.dictionary, at: position)
        position += 1
        if try nextCharacter(text) == UInt8(ascii: "}") {
            try end()
            return true
        }
        return try readMembers(text)
    }

    private mutating func end() throws(WireFormatError) {
        try builder.end(at: position)
        position += 1
    }

    /// After a value: closes containers, takes a comma and a key.
    private mutating func readUntilNextValue(_ text: Span<UInt8>) throws(WireFormatError) {
        while builder.depth > 0 {
            let isInDictionary = builder.isInDictionary
            switch try nextCharacter(text) {
            case UInt8(ascii: ","):
                position += 1
                guard isInDictionary, try readMembers(text) else { return }
            case UInt8(ascii: "}") where isInDictionary, UInt8(ascii: "]") where !isInDictionary: try end()
            default: throw malformed(isInDictionary ? "',' or '}' is expected" : "',' or ']' is expected", text)
            }
        }
    }

    mutating func readKey(_ text: Span<UInt8>) throws(WireFormatError) {
        guard try nextCharacter(text) == UInt8(ascii: "\"") else { throw malformed("a key is expected", text) }
        try readString(text, .key)
        guard try nextCharacter(text) == UInt8(ascii: ":") else { throw malformed("':' is expected", text) }
        position += 1
    }

    private mutating func readLiteral(
        _ literal: StaticString, _ kind: TapeToken.Kind, _ text: Span<UInt8>
    ) throws(WireFormatError) {
        let length = literal.utf8CodeUnitCount
        guard position + length <= text.count else { throw malformed("a value is expected") }
        for index in 0..<length where text[position + index] != literal.utf8Start[index] {
            throw malformed("a value is expected")
        }
        try builder.scalar(TapeToken(kind), at: position)
        position += length
    }

    /// Skips white space; 0 at the end. A NUL in the input is refused here, so the two cannot be mixed up.
    @inline(__always)
    private mutating func nextCharacter(_ text: Span<UInt8>) throws(WireFormatError) -> UInt8 {
        while position < text.count {
            let character = text[position]
            if character > 0x20 { return character }
            guard character == 0x20 || character == 0x0A || character == 0x0D || character == 0x09 else {
                throw malformed("a control character stands between values")
            }
            position &+= 1
        }
        return 0
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: position)
    }

    private func malformed(_ message: String, _ text: Span<UInt8>) -> WireFormatError {
        malformed(position < text.count ? message : "the document ends too early")
    }
}

/// The members of a dictionary, most of which are scalars behind plain keys: taken in one loop without a call for each
/// part. Only what stands there without white space and escapes is taken here.
extension JSONReader {
    /// From where a key is due: takes members as long as their values are strings and numbers. Tells whether the last
    /// one's value was taken; otherwise it comes next.
    mutating func readMembers(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        repeat {
            if try !takesPlainKey(text) { try readKey(text) }
            guard try takesScalar(text) else { return false }
        } while takesComma(text)
        return true
    }

    @inline(__always)
    private mutating func takesPlainKey(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: "\"") else { return false }
        let start = position &+ 1
        let end = SWAR.skipPlain(text, from: start)
        guard end &+ 1 < text.count, text[end] == UInt8(ascii: "\""), text[end &+ 1] == UInt8(ascii: ":") else {
            return false
        }
        try builder.key(TapeToken(.key, offset: start, length: end &- start), at: start)
        position = end &+ 2
        return true
    }

    @inline(__always)
    private mutating func takesScalar(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count else { return false }
        switch text[position] {
        case UInt8(ascii: "\""): try takeText(text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        default: return false
        }
        return true
    }

    @inline(__always)
    private mutating func takeText(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position &+ 1
        let end = SWAR.skipPlain(text, from: start)
        guard end < text.count, text[end] == UInt8(ascii: "\"") else { return try readWideString(text) }
        try builder.bytes(TapeToken(.string, offset: start, length: end &- start), at: start)
        position = end &+ 1
    }

    @inline(never)
    private mutating func readWideString(_ text: Span<UInt8>) throws(WireFormatError) {
        try readString(text, .string)
    }

    @inline(__always)
    private mutating func takesComma(_ text: Span<UInt8>) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: ",") else { return false }
        position &+= 1
        return true
    }
}

extension JSONReader {
    /// Takes a string, from its opening quote to its closing one.
    @inline(__always)
    mutating func readString(_ text: Span<UInt8>, _ kind: TapeToken.Kind) throws(WireFormatError) {
        let start = position + 1
        position = SWAR.skipPlain(text, from: start)
        var storage = TapeToken.Storage.input
        if position >= text.count || text[position] != UInt8(ascii: "\"") { storage = try readSpecial(text) }
        let token = TapeToken(kind, offset: start, length: position - start, storage: storage)
        if kind == .key { try builder.key(token, at: start) } else { try builder.bytes(token, at: start) }
        position += 1
    }

    /// The rest of a string that is not plain ASCII all through.
    @inline(never)
    private mutating func readSpecial(_ text: Span<UInt8>) throws(WireFormatError) -> TapeToken.Storage {
        var storage = TapeToken.Storage.input
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): return storage
            case UInt8(ascii: "\\"):
                storage = .jsonEscaped
                try skipEscape(text)
            case 0x80...: try skipScalar(text)
            default: throw malformed("a control character in a string must be escaped")
            }
            position = SWAR.skipPlain(text, from: position)
        }
        throw malformed("a string is not closed")
    }

    private mutating func skipScalar(_ text: Span<UInt8>) throws(WireFormatError) {
        let length = UTF8Text.scalarLength(text, at: position)
        guard length > 0 else { throw malformed("a string is not valid UTF-8") }
        position += length
    }

    private mutating func skipEscape(_ text: Span<UInt8>) throws(WireFormatError) {
        guard position + 1 < text.count else { throw malformed("a string is not closed") }
        switch text[position + 1] {
        case UInt8(ascii: "u"): try skipUnicodeEscape(text)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        default: throw malformed("an unknown escape in a string")
        }
    }

    private mutating func skipUnicodeEscape(_ text: Span<UInt8>) throws(WireFormatError) {
        let unit = try unicodeEscape(text)
        guard UTF16.isSurrogate(unit) else {
            position += 6
            return
        }
        guard UTF16.isLeadSurrogate(unit) else { throw malformed("a lone surrogate in a string") }
        position += 6
        guard UTF16.isTrailSurrogate(try unicodeEscape(text)) else { throw malformed("a lone surrogate in a string") }
        position += 6
    }

    /// The unit of `\uXXXX` at the current position.
    private func unicodeEscape(_ text: Span<UInt8>) throws(WireFormatError) -> UInt16 {
        guard position + 6 <= text.count, text[position] == UInt8(ascii: "\\"), text[position + 1] == UInt8(ascii: "u")
        else { throw malformed("a lone surrogate or an incomplete escape in a string") }
        var unit: UInt16 = 0
        for index in 2..<6 {
            guard let digit = JSONText.hexDigit(text[position + index]) else {
                throw malformed("an escape needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

extension JSONReader {
    /// Takes a number (RFC 8259, section 6). Up to 18 digits are put together while scanning.
    mutating func readNumber(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position
        let isNegative = text[start] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let (magnitude, digits) = takeDigits(text)
        guard digits > 0, digits == 1 || text[position - digits] != 0x30 else { throw malformedNumber(start) }
        if position < text.count, isRealMark(text[position]) {
            return try readReal(text, start, isNegative, magnitude, digits)
        }
        guard digits <= 18 else { return try readLargeInteger(text, start) }
        let number = isNegative ? -Int64(magnitude) : Int64(magnitude)
        try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: number)), at: start)
    }

    /// The value is right for up to 19 digits.
    @inline(__always)
    private mutating func takeDigits(_ text: Span<UInt8>, after leading: UInt64 = 0) -> (value: UInt64, count: Int) {
        var value = leading
        let start = position
        while position < text.count, text[position] &- 0x30 < 10 {
            value = value &* 10 &+ UInt64(text[position] &- 0x30)
            position &+= 1
        }
        return (value, position - start)
    }

    private func isRealMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
    }

    private mutating func readReal(
        _ text: Span<UInt8>, _ start: Int, _ isNegative: Bool, _ whole: UInt64, _ wholeDigits: Int
    ) throws(WireFormatError) {
        var (mantissa, fractionDigits) = (whole, 0)
        if text[position] == UInt8(ascii: ".") {
            position += 1
            (mantissa, fractionDigits) = takeDigits(text, after: whole)
            guard fractionDigits > 0 else { throw malformedNumber(start) }
        }
        let exponent = try takeExponent(text, start) - fractionDigits
        if wholeDigits + fractionDigits <= 18, let number = ExactPowers.scale(mantissa, by: exponent),
            // 15 digits survive every double; with more, the double's shortest digits must be these.
            mantissa < 1_000_000_000_000_000 || ShortestDigits(number).are(mantissa, exponent)
        {
            let bits = (isNegative ? -number : number).bitPattern
            return try builder.scalar(TapeToken(.double, bits: bits), at: start)
        }
        try readWideReal(text, start)
    }

    /// Saturates far beyond every double.
    private mutating func takeExponent(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Int {
        guard position < text.count, text[position] | 0x20 == UInt8(ascii: "e") else { return 0 }
        position += 1
        let isSigned = position < text.count && (text[position] == 0x2B || text[position] == 0x2D)
        let isNegative = isSigned && text[position] == 0x2D
        if isSigned { position += 1 }
        let (value, digits) = takeDigits(text)
        guard digits > 0 else { throw malformedNumber(start) }
        let magnitude = digits > 18 ? Int(1e9) : Int(min(value, 1_000_000_000))
        return isNegative ? -magnitude : magnitude
    }

    func malformedNumber(_ start: Int) -> WireFormatError {
        builder.failure(.malformed, "a number is malformed", at: start)
    }
}

/// Clinger's fast path: mantissa and power of ten are exact doubles, so one operation rounds correctly.
private enum ExactPowers {
    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    static func scale(_ mantissa: UInt64, by exponent: Int) -> Double? {
        guard mantissa <= 1 << 53, exponent >= -22, exponent <= 22 else { return nil }
        return exponent < 0 ? Double(mantissa) / powers[-exponent] : Double(mantissa) * powers[exponent]
    }
}

/// The shortest decimal digits that read back as a double, without zeros at their end.
struct ShortestDigits {
    private let digits: UInt64
    private let exponent: Int

    /// A finite number, whose sign is not looked at.
    init(_ number: Double) {
        var (digits, exponent, places, isFraction) = (0 as UInt64, 0, 0, false)
        var text = Substring(number.magnitude.description).utf8
        while let byte = text.popFirst() {
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else if byte == UInt8(ascii: "e") {
                exponent = Int(Substring(text)) ?? 0
                break
            } else {
                // At most 17 digits and a zero behind the point.
                digits = digits &* 10 &+ UInt64(byte &- 0x30)
                if isFraction { places += 1 }
            }
        }
        (self.digits, self.exponent) = Self.withoutZeros(digits, exponent - places)
    }

    func are(_ digits: UInt64, _ exponent: Int) -> Bool {
        let other = Self.withoutZeros(digits, exponent)
        return other.digits == self.digits && (other.exponent == self.exponent || digits == 0)
    }

    private static func withoutZeros(_ digits: UInt64, _ exponent: Int) -> (digits: UInt64, exponent: Int) {
        var (digits, exponent) = (digits, exponent)
        while digits != 0, digits % 10 == 0 { (digits, exponent) = (digits / 10, exponent + 1) }
        return (digits, exponent)
    }
}

/// Numbers that need more than the fast paths.
extension JSONReader {
    /// So many significant digits survive every double that is not subnormal.
    private static let safeDigits = 15
    /// No double has more in its shortest form.
    private static let mostDigits = 17

    /// An integer of 19 digits or more.
    mutating func readLargeInteger(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) {
        let number = string(text, start)
        if let value = Int64(number) {
            try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: value)), at: start)
        } else if let value = UInt64(number) {
            try builder.scalar(TapeToken(.uint64, bits: value), at: start)
        } else {
            try appendDecimal(number, start)
        }
    }

    /// A number with a fraction or an exponent: a double where its shortest digits are these, otherwise a decimal.
    mutating func readWideReal(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) {
        let number = string(text, start)
        guard let double = Double(number) else { throw malformedNumber(start) }
        let significant = significantDigits(number)
        guard double.isFinite, double != 0 || significant == 0 else {
            throw builder.failure(.refused, "a number is beyond the range of a double", at: start)
        }
        guard isShortest(double, number, significant) else { return try appendDecimal(number, start) }
        try builder.scalar(TapeToken(.double, bits: double.bitPattern), at: start)
    }

    private func isShortest(_ double: Double, _ number: String, _ significant: Int) -> Bool {
        if significant == 0 || (significant <= Self.safeDigits && double.isNormal) { return true }
        guard significant <= Self.mostDigits, let exact = WireDecimal(number) else { return false }
        return exact == WireDecimal(double.description)
    }

    private mutating func appendDecimal(_ number: String, _ start: Int) throws(WireFormatError) {
        guard WireDecimal(number) != nil else {
            throw builder.failure(
                .limitExceeded, "a number has more than \(WireDecimal.maximumDigits) digits", at: start)
        }
        try builder.bytes(TapeToken(.decimal, offset: start, length: position - start), at: start)
    }

    private func string(_ text: Span<UInt8>, _ start: Int) -> String {
        text.extracting(start..<position).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Digits of the mantissa without leading and trailing zeros.
    private func significantDigits(_ number: String) -> Int {
        let digits = number.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { $0 &- 0x30 < 10 }
        guard let first = digits.firstIndex(where: { $0 != 0x30 }), let last = digits.lastIndex(where: { $0 != 0x30 })
        else { return 0 }
        return last - first + 1
    }
}
