/// What a writer asks of text before it decides how to write it.
enum XMLElementNames {
    /// Whether a key is an element's name as it is: an `NCName` that does not start with `xml`, which is reserved in any
    /// case (XML 1.0, section 2.3).
    static func isPlain(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = key.first, XMLCharacters.isASCIINameStart(first) || first >= 0x80 else { return false }
        let isReserved =
            key.count >= 3 && key[0] | 0x20 == UInt8(ascii: "x") && key[1] | 0x20 == UInt8(ascii: "m")
            && key[2] | 0x20 == UInt8(ascii: "l")
        return !isReserved && key.count <= XMLLimits.name && XMLCharacters.isNCName(key.span)
    }

    /// Whether XML can carry a text.
    static func isText(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var position = 0
        while true {
            position = SWAR.skipXMLPlain(text, from: position)
            guard position < text.count else { return true }
            let byte = text[position]
            if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
            if byte == 0xEF, text[position + 1] == 0xBF, text[position + 2] >= 0xBE { return false }
            position += 1
        }
    }
}
