extension SWAR {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    private static func below(_ word: UInt64, _ bound: UInt64) -> UInt64 { word &- ones &* bound }

    @inline(__always)
    private static func equals(_ word: UInt64, _ byte: UInt64) -> UInt64 { (word ^ (ones &* byte)) &- ones }

    /// The position of the first byte from `start` on that is a control character (line feed and tab too), not ASCII,
    /// `&` or one of the two stops, or the end.
    @inline(__always)
    static func skipXML(_ text: Span<UInt8>, from start: Int, _ stop: UInt8, _ other: UInt8) -> Int {
        let bytes = text.bytes
        var position = start
        while position &+ 8 <= text.count {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
            let found =
                below(word, 0x20) | equals(word, 0x26) | equals(word, UInt64(stop)) | equals(word, UInt64(other))
            let marks = (found & ~word | word) & highs
            if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < text.count {
            let byte = text[position]
            if byte < 0x20 || byte >= 0x80 || byte == 0x26 || byte == stop || byte == other { break }
            position &+= 1
        }
        return position
    }

    /// Marks the first byte that a writer of XML escapes in text or in an attribute's value (a control character, `<`,
    /// `>`, `&`, `"`) or that may start U+FFFE or U+FFFF (0xEF). Bytes after it may be marked wrongly.
    @inline(__always)
    static func xmlMarks(_ word: UInt64) -> UInt64 {
        // `<` is 0x3C and `>` is 0x3E: one comparison without the second lowest bit.
        let angle = ((word & ~(ones &* 2)) ^ (ones &* 0x3C)) &- ones
        let ascii = (below(word, 0x20) | equals(word, 0x26) | angle | equals(word, 0x22)) & ~word
        return (ascii | equals(word, 0xEF) & word) & highs
    }

    /// The position of the first such byte from `start` on, or the end.
    @inline(__always)
    static func skipXMLPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(text)
        var position = start
        while position &+ 8 <= text.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let marks = xmlMarks(word)
            if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < text.count, !isSpecial(text[position]) { position &+= 1 }
        return position
    }

    @inline(__always)
    static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x26 || byte == 0x3C || byte == 0x3E || byte == 0x22 || byte == 0xEF
    }
}
