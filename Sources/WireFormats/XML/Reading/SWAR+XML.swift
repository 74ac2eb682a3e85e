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

    /// The position of the first byte from `start` on that is none of the plain text of an element (a control character
    /// other than a line feed, not ASCII, `&`, `<` or `]`), or the end.
    @inline(__always)
    static func skipXMLText(_ text: Span<UInt8>, from start: Int) -> Int {
        var position = start
        while position &+ 8 <= text.count {
            let marks = textMarks(word(text, at: position))
            if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < text.count {
            let byte = text[position]
            if byte < 0x20 && byte != 0x0A || byte >= 0x80 || byte == 0x26 || byte == 0x3C || byte == 0x5D { break }
            position &+= 1
        }
        return position
    }

    /// Exact for every byte: with its high bit set, no byte borrows from the next one, and keeps the bit unless it is
    /// what it is compared with.
    @inline(__always)
    private static func textMarks(_ word: UInt64) -> UInt64 {
        let high = word | highs
        let noControl = (high &- ones &* 0x20) | ~((high ^ (ones &* 0x0A)) &- ones)
        let plain =
            noControl & ((high ^ (ones &* 0x26)) &- ones) & ((high ^ (ones &* 0x3C)) &- ones)
            & ((high ^ (ones &* 0x5D)) &- ones)
        return (~plain | word) & highs
    }

    /// The position of the first byte from `start` on that is no space, tab or line feed, or one close to the end.
    @inline(__always)
    static func skipIndentation(_ text: Span<UInt8>, from start: Int) -> Int {
        var position = start
        while position &+ 8 <= text.count {
            let word = word(text, at: position)
            let high = word | highs
            let other =
                ((high ^ (ones &* 0x0A)) &- ones) & ((high ^ (ones &* 0x09)) &- ones)
                & ((high ^ (ones &* 0x20)) &- ones)
            let marks = (other | word) & highs
            if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        return position
    }

    /// Eight bytes, the first one lowest; 0 where there are fewer.
    @inline(__always)
    static func word(_ text: Span<UInt8>, at position: Int) -> UInt64 {
        guard position >= 0, position &+ 8 <= text.count else { return 0 }
        return UInt64(littleEndian: text.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
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

    /// The same for text, where a line feed and a quote pass. Exact for every byte, as above.
    @inline(__always)
    static func xmlTextMarks(_ word: UInt64) -> UInt64 {
        let high = word | highs
        let noControl = (high &- ones &* 0x20) | ~((high ^ (ones &* 0x0A)) &- ones)
        let angle = ((high & ~(ones &* 2)) ^ (ones &* 0x3C)) &- ones
        let plain = noControl & ((high ^ (ones &* 0x26)) &- ones) & angle
        let lead = word ^ (ones &* 0xEF)
        let noLead = ((lead | highs) &- ones) | lead
        return (~(plain | word) | ~noLead) & highs
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
