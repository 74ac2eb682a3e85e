extension XMLScanner {
    /// `xmlns` or `xmlns:…`.
    func isDeclaration(_ name: XMLName, _ text: Span<UInt8>) -> Bool {
        let length = name.prefixLength > 0 ? Int(name.prefixLength) : Int(name.length)
        return length == 5 && Self.isXMLNS(text, name.offset)
    }

    private static func isXMLNS(_ text: Span<UInt8>, _ offset: Int) -> Bool {
        text[offset] == UInt8(ascii: "x") && text[offset + 1] == UInt8(ascii: "m")
            && text[offset + 2] == UInt8(ascii: "l") && text[offset + 3] == UInt8(ascii: "n")
            && text[offset + 4] == UInt8(ascii: "s")
    }

    mutating func bind(_ declaration: XMLAttribute, _ text: Span<UInt8>) throws(WireFormatError) {
        guard namespaces.count < XMLLimits.bindings else {
            throw exceeded("namespace declarations", XMLLimits.bindings, text)
        }
        let prefix = declaration.name.prefixLength > 0 ? declaration.name.localRange : 0..<0
        let namespace = namespaces.intern(XMLText.attributeValue(declaration.value, text))
        try requireBindable(prefix, namespace, text, at: declaration.name.offset)
        namespaces.bind(prefix, to: namespace)
    }

    /// Section 3: `xml` belongs to its namespace and that one to it, `xmlns` is never declared, and a prefix cannot be
    /// undeclared.
    private func requireBindable(
        _ prefix: Range<Int>, _ namespace: Int32, _ text: Span<UInt8>, at offset: Int
    ) throws(WireFormatError) {
        let word = prefix.count <= 5 ? String(decoding: Array(copying: text, prefix), as: UTF8.self) : ""
        guard (word == "xml") == (namespace == XMLNamespaces.xml), word != "xmlns", namespace != XMLNamespaces.xmlns
        else { throw malformed("a reserved namespace or prefix is declared", text, at: offset) }
        guard prefix.isEmpty || namespace != XMLNamespaces.none else {
            throw malformed("a prefix is bound to no namespace", text, at: offset)
        }
    }

    /// No two attributes may have one name, as written or expanded.
    func requireDistinct(_ attributes: [XMLAttribute], _ text: Span<UInt8>) throws(WireFormatError) {
        let collision =
            attributes.count <= 12
            ? firstCollision(pairwise: attributes, text) : firstCollision(hashed: attributes, text)
        if let collision { throw malformed("an attribute occurs twice", text, at: collision) }
    }

    private func firstCollision(pairwise attributes: [XMLAttribute], _ text: Span<UInt8>) -> Int? {
        for later in 1..<attributes.count {
            for earlier in 0..<later where isSame(attributes[earlier].name, attributes[later].name, text) {
                return attributes[later].name.offset
            }
        }
        return nil
    }

    private func firstCollision(hashed attributes: [XMLAttribute], _ text: Span<UInt8>) -> Int? {
        var seen: Set<ExpandedName> = []
        for attribute in attributes {
            let local = Array(copying: text, attribute.name.localRange)
            let isNew = seen.insert(ExpandedName(namespace: attribute.name.namespace, local: local)).inserted
            if !isNew { return attribute.name.offset }
        }
        return nil
    }

    private func isSame(_ left: XMLName, _ right: XMLName, _ text: Span<UInt8>) -> Bool {
        left.namespace == right.namespace && (left.prefixLength > 0) == (right.prefixLength > 0)
            && XMLNamespaces.areEqual(left.localRange, right.localRange, in: text)
    }
}

private struct ExpandedName: Hashable {
    var namespace: Int32
    var local: [UInt8]
}

extension Array where Element == UInt8 {
    /// The bytes of a range of a span.
    init(copying text: Span<UInt8>, _ range: Range<Int>) {
        self = text.extracting(range).withUnsafeBufferPointer { Array($0) }
    }
}
