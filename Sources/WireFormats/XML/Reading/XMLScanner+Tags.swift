extension XMLScanner {
    /// Takes a start tag or an empty-element tag; tells whether it was the latter.
    @inline(__always)
    mutating func readStartTag(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard open.count < maximumDepth else { throw exceeded("depth", maximumDepth, text) }
        position += 1
        var element = try takeName(text)
        if !attributes.isEmpty { attributes.removeAll(keepingCapacity: true) }
        let bindings = namespaces.count
        if position < text.count, text[position] != UInt8(ascii: ">") { try readAttributes(text) }
        if !namespaces.isEmpty || element.prefixLength > 0 {
            element.namespace = try expand(element, text)
        }
        let isEmpty = try closeStartTag(text)
        open.append(OpenElement(name: element, bindings: bindings))
        name = element
        return isEmpty
    }

    @inline(__always)
    private mutating func closeStartTag(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count else { throw malformed("a tag is not closed", text) }
        let isEmpty = text[position] == UInt8(ascii: "/")
        if isEmpty { position += 1 }
        guard position < text.count, text[position] == UInt8(ascii: ">") else {
            throw malformed("a tag is not closed", text)
        }
        position += 1
        return isEmpty
    }

    @inline(__always)
    mutating func readEndTag(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        guard !open.isEmpty else { throw malformed("an end tag without a start tag", text) }
        let expected = open[open.count - 1].name.range
        let start = position + 2
        let end = start + expected.count
        guard end < text.count, XMLNamespaces.areEqual(expected, start..<end, in: text) else {
            throw malformed("an end tag does not match its start tag", text)
        }
        position = end
        if text[position] != UInt8(ascii: ">") { try closeSpacedEndTag(text) }
        position += 1
        return closeElement()
    }

    private mutating func closeSpacedEndTag(_ text: Span<UInt8>) throws(WireFormatError) {
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: ">") else {
            throw malformed("an end tag does not match its start tag", text)
        }
    }

    /// The namespace of an element.
    func expand(_ element: XMLName, _ text: Span<UInt8>) throws(WireFormatError) -> Int32 {
        let prefix = element.offset..<element.offset + Int(element.prefixLength)
        guard let namespace = namespaces.lookUp(prefix, in: text) else {
            throw malformed("a namespace prefix is not declared", text, at: element.offset)
        }
        return namespace
    }
}
