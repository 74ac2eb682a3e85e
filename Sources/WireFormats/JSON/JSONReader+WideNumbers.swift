import ValueTree

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
