extension XMLScanner {
    /// Takes character data up to the next `<`.
    @inline(__always)
    mutating func readText(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        let start = position
        position = SWAR.skipXMLText(text, from: start)
        var needsResolving = false
        if position < text.count, text[position] != UInt8(ascii: "<") {
            needsResolving = try readSpecialText(text)
        }
        content = XMLContent(range: start..<position, resolving: needsResolving ? .references : .none)
        return .text
    }

    /// The rest of character data that is not plain ASCII all through; tells whether it needs resolving.
    @inline(never)
    private mutating func readSpecialText(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        var needsResolving = false
        while position < text.count, text[position] != UInt8(ascii: "<") {
            switch text[position] {
            case 0x09: position += 1
            case 0x0D:
                needsResolving = true
                position += 1
            case UInt8(ascii: "&"):
                needsResolving = true
                try skipReference(text)
            case UInt8(ascii: "]"):
                if follows("]]>", text) { throw malformed("`]]>` in text", text) }
                position += 1
            default: try skipScalar(text)
            }
            position = SWAR.skipXMLText(text, from: position)
        }
        return needsResolving
    }

    /// Takes one character that is not plain ASCII.
    @inline(__always)
    mutating func skipScalar(_ text: Span<UInt8>) throws(WireFormatError) {
        let byte = text[position]
        if byte < 0x80 {
            guard byte >= 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D else { throw badCharacter(text) }
            position += 1
            return
        }
        let length = UTF8Text.scalarLength(text, at: position)
        guard length > 0 else { throw badCharacter(text) }
        // U+FFFE and U+FFFF are the only scalars beyond ASCII that are no `Char`.
        if byte == 0xEF, text[position + 1] == 0xBF, text[position + 2] >= 0xBE { throw badCharacter(text) }
        position += length
    }

    /// Takes `&name;`, `&#n;` or `&#xn;` and checks what it refers to.
    mutating func skipReference(_ text: Span<UInt8>) throws(WireFormatError) {
        guard let reference = XMLReference(text, at: position) else {
            throw malformed("a reference to nothing that is known, or `&` as itself", text)
        }
        guard XMLCharacters.isCharacter(reference.scalar) else {
            throw malformed("a reference to a character that XML does not allow", text)
        }
        position += reference.length
    }
}
