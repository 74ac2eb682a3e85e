/// Where text stands and what is escaped there.
enum XMLEscaping {
    /// `&`, `<`, `>` and CR.
    case text
    /// `&`, `<`, `"`, tab, LF and CR.
    case attribute
    /// As Canonical XML 1.1 (section 2.3) has the two: references to control characters are hexadecimal.
    case canonicalText, canonicalAttribute

    var isAttribute: Bool { self == .attribute || self == .canonicalAttribute }
    var isCanonical: Bool { self == .canonicalText || self == .canonicalAttribute }
}

extension OutputBuffer {
    /// Appends text with what XML reserves escaped; a character that XML cannot carry is an error.
    ///
    /// Eight bytes are copied at a time while they are looked at.
    mutating func appendXML(
        _ text: UnsafeBufferPointer<UInt8>, _ escaping: XMLEscaping
    ) throws(WireFormatError) {
        reserve(text.count &+ 8)
        let bytes = UnsafeRawBufferPointer(text)
        var position = 0
        while true {
            // Line ends are what long texts have most: they pass in text.
            position =
                escaping.isAttribute
                ? copyWords(bytes, from: position, SWAR.xmlMarks) : copyWords(bytes, from: position, SWAR.xmlTextMarks)
            guard position &+ 8 <= text.count else { break }
            try escape(text, &position, escaping)
        }
        try appendXMLTail(text, position, escaping)
    }

    /// Copies whole words up to the first byte that may have to be escaped, or to the last seven bytes; returns that
    /// position. The caller has reserved what is copied.
    @inline(__always)
    private mutating func copyWords(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ marks: (UInt64) -> UInt64
    ) -> Int {
        let target = UnsafeMutableRawPointer(base + used) - start
        var position = start
        while position &+ 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            (target + position).storeBytes(of: word, as: UInt64.self)
            let marks = marks(UInt64(littleEndian: word))
            guard marks == 0 else {
                position &+= marks.trailingZeroBitCount &>> 3
                break
            }
            position &+= 8
        }
        used &+= position &- start
        return position
    }

    /// Stores a word and keeps its first bytes up to one that may have to be escaped; returns how many.
    @inline(__always)
    private mutating func takeWord(_ word: UInt64, of count: Int) -> Int {
        UnsafeMutableRawPointer(base + used).storeBytes(of: word, as: UInt64.self)
        let marks = SWAR.xmlMarks(UInt64(littleEndian: word))
        let plain = min(marks == 0 ? 8 : marks.trailingZeroBitCount &>> 3, count)
        used &+= plain
        return plain
    }

    /// Fewer than eight bytes. Behind a longer text they are the end of its last eight, which the loop has taken.
    @inline(__always)
    private mutating func appendXMLTail(
        _ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ escaping: XMLEscaping
    ) throws(WireFormatError) {
        var position = start
        if text.count >= 8, position < text.count {
            let last = UnsafeRawBufferPointer(text).loadUnaligned(fromByteOffset: text.count - 8, as: UInt64.self)
            let rest = text.count &- position
            let word = UInt64(littleEndian: last) &>> UInt64(8 &* (8 &- rest))
            position &+= takeWord(word.littleEndian, of: rest)
        }
        while position < text.count {
            let byte = text[position]
            if SWAR.isSpecial(byte) {
                try escape(text, &position, escaping)
            } else {
                base[used] = byte
                used &+= 1
                position &+= 1
            }
        }
    }

    @inline(never)
    private mutating func escape(
        _ text: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ escaping: XMLEscaping
    ) throws(WireFormatError) {
        try appendXMLSpecial(text, position, escaping)
        position += 1
        reserve(text.count - position + 8)
    }

    mutating func appendXML(_ text: String, _ escaping: XMLEscaping) throws(WireFormatError) {
        let bytes = Array(text.utf8)
        var failure: WireFormatError?
        bytes.withUnsafeBufferPointer { bytes in
            do throws(WireFormatError) { try appendXML(bytes, escaping) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private mutating func appendXMLSpecial(
        _ text: UnsafeBufferPointer<UInt8>, _ position: Int, _ escaping: XMLEscaping
    ) throws(WireFormatError) {
        let byte = text[position]
        switch byte {
        case UInt8(ascii: "&"): append("&amp;")
        case UInt8(ascii: "<"): append("&lt;")
        case UInt8(ascii: ">") where !escaping.isAttribute: append("&gt;")
        case UInt8(ascii: "\"") where escaping.isAttribute: append("&quot;")
        case 0x0D: append(escaping.isCanonical ? "&#xD;" : "&#13;")
        case 0x09 where escaping.isAttribute: append(escaping.isCanonical ? "&#x9;" : "&#9;")
        case 0x0A where escaping.isAttribute: append(escaping.isCanonical ? "&#xA;" : "&#10;")
        case UInt8(ascii: ">"), UInt8(ascii: "\""), 0x09, 0x0A: append(byte)
        case 0..<0x20: throw .noXMLCharacter
        default:
            // 0xEF, which also starts the two scalars above U+FFFD that are no characters of XML.
            if text[position + 1] == 0xBF, text[position + 2] >= 0xBE { throw .noXMLCharacter }
            append(byte)
        }
    }
}

extension WireFormatError {
    static let noXMLCharacter = WireFormatError(
        .notRepresentable, "the text has a character that XML cannot carry, such as a control character")
}
