extension XMLScanner {
    /// Takes the attributes of a start tag, binds the namespaces that are declared among them, expands the names, and
    /// leaves the declarations out of ``attributes``.
    mutating func readAttributes(_ text: Span<UInt8>) throws(WireFormatError) {
        declarations.removeAll(keepingCapacity: true)
        while try entersAttribute(text) {
            let attribute = try takeAttribute(text)
            guard attributes.count + declarations.count < XMLLimits.attributes else {
                throw exceeded("attributes of one element", XMLLimits.attributes, text)
            }
            if isDeclaration(attribute.name, text) {
                declarations.append(attribute)
            } else {
                attributes.append(attribute)
            }
        }
        for declaration in declarations { try bind(declaration, text) }
        if declarations.count > 1 { try requireDistinct(declarations, text) }
        try expandAttributes(text)
        if attributes.count > 1 { try requireDistinct(attributes, text) }
    }

    /// White space, then whether an attribute follows it.
    private mutating func entersAttribute(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        let start = position
        skipSpace(text)
        guard position < text.count else { throw malformed("a tag is not closed", text) }
        if text[position] == UInt8(ascii: ">") || text[position] == UInt8(ascii: "/") { return false }
        guard position > start else { throw malformed("white space is missing between attributes", text) }
        return true
    }

    private mutating func takeAttribute(_ text: Span<UInt8>) throws(WireFormatError) -> XMLAttribute {
        let name = try takeName(text)
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: "=") else {
            throw malformed("an attribute without a value", text)
        }
        position += 1
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'") else {
            throw malformed("an attribute's value is not quoted", text)
        }
        return XMLAttribute(name: name, value: try takeValue(text))
    }

    private mutating func takeValue(_ text: Span<UInt8>) throws(WireFormatError) -> XMLContent {
        let quote = text[position]
        let start = position + 1
        var needsResolving = false
        position = SWAR.skipXML(text, from: start, quote, UInt8(ascii: "<"))
        while position < text.count, text[position] != quote {
            switch text[position] {
            case UInt8(ascii: "<"): throw malformed("`<` in an attribute's value", text)
            case UInt8(ascii: "&"):
                needsResolving = true
                try skipReference(text)
            case 0x09, 0x0A, 0x0D:
                needsResolving = true
                position += 1
            default: try skipScalar(text)
            }
            position = SWAR.skipXML(text, from: position, quote, UInt8(ascii: "<"))
        }
        guard position < text.count else { throw malformed("an attribute's value is not closed", text, at: start) }
        position += 1
        return XMLContent(range: start..<position - 1, resolving: needsResolving ? .references : .none)
    }

    private mutating func expandAttributes(_ text: Span<UInt8>) throws(WireFormatError) {
        for index in attributes.indices where attributes[index].name.prefixLength > 0 {
            attributes[index].name.namespace = try expand(attributes[index].name, text)
        }
    }
}
