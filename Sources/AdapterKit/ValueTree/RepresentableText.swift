/// Text that every wire format carries: characters of XML 1.0 (section 2.2, `Char`). Those are all Unicode scalars but
/// the C0 controls other than tab, line feed and carriage return, U+FFFE and U+FFFF. U+0000 is such a control.
extension String {
    /// Whether every wire format carries the text.
    public var isRepresentableInEveryFormat: Bool {
        let isCarried = utf8.withContiguousStorageIfAvailable { Self.firstUncarried(UnsafeRawBufferPointer($0)) == nil }
        return isCarried ?? !unicodeScalars.contains(where: Self.isUncarried)
    }

    /// The text with U+FFFD for each character that some wire format cannot carry.
    public var replacedForEveryFormat: String {
        if isRepresentableInEveryFormat { return self }
        var scalars = UnicodeScalarView()
        for scalar in unicodeScalars { scalars.append(Self.isUncarried(scalar) ? "\u{FFFD}" : scalar) }
        return String(scalars)
    }

    private static func isUncarried(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: false
        case 0..<0x20, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    /// Eight bytes at a time. A word is looked at byte by byte where it has a byte below 0x20 or 0xEF, which begins
    /// U+FFFE and U+FFFF.
    private static func firstUncarried(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var position = 0
        while position + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let controls = (word &- ones &* 0x20) & ~word & highs
            let difference = word ^ (ones &* 0xEF)
            let leads = (difference &- ones) & ~difference & highs
            if controls | leads != 0 {
                let end = position + 8
                if let found = (position..<end).first(where: { isUncarried(bytes, at: $0) }) { return found }
            }
            position += 8
        }
        return (position..<bytes.count).first { isUncarried(bytes, at: $0) }
    }

    /// The bytes are valid UTF-8, so two bytes follow 0xEF.
    private static func isUncarried(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Bool {
        let byte = bytes[position]
        if byte < 0x20 { return byte != 0x09 && byte != 0x0A && byte != 0x0D }
        guard byte == 0xEF, position + 2 < bytes.count else { return false }
        return bytes[position + 1] == 0xBF && bytes[position + 2] >= 0xBE
    }
}
