import ValueTree

/// Reads a document that says its types to a tape. Everything that such a document does not have is refused: elements in
/// a namespace, other attributes, text between members.
struct TypedXMLReader: ~Copyable {
    var scanner: XMLScanner
    var builder: TapeBuilder
    private let valueNamespace: Int32

    /// The scanner has just met the root element.
    init(_ scanner: consuming XMLScanner, _ builder: consuming TapeBuilder, valueNamespace: Int32) {
        self.scanner = scanner
        self.builder = builder
        self.valueNamespace = valueNamespace
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        let (type, key) = try readAttributes(text)
        guard key == nil else { throw malformed("a key outside of a dictionary") }
        try readValue(type, text)
        while scanner.depth > 0 {
            switch try scanner.next(text) {
            case .startElement: try readMember(text)
            case .endElement: try builder.end(at: scanner.eventStart)
            case .text:
                guard XMLText.isSpace(scanner.content, text) else { throw strayText() }
            case .cdata: throw strayText()
            case .comment, .processingInstruction, .endDocument: break
            }
        }
        while try scanner.next(text) != .endDocument {}
    }

    private mutating func readMember(_ text: Span<UInt8>) throws(WireFormatError) {
        let name = scanner.name
        guard name.namespace == XMLNamespaces.none else { throw malformed("an element in a namespace") }
        let (type, key) = try readAttributes(text)
        if builder.isInDictionary {
            try readKey(name, key, text)
        } else {
            guard key == nil, XMLValueType.matches(text, name.range, "item") else {
                throw malformed("an array's element is not named `item`")
            }
        }
        try readValue(type, text)
    }

    private mutating func readKey(
        _ name: XMLName, _ key: XMLContent?, _ text: Span<UInt8>
    ) throws(WireFormatError) {
        guard let key else {
            let token = TapeToken(.key, offset: name.offset, length: Int(name.length))
            return try builder.key(token, at: name.offset)
        }
        guard XMLValueType.matches(text, name.range, "_") else {
            throw malformed("a key on an element that is not named `_`")
        }
        let token = builder.aside(.key, XMLText.attributeValue(key, text))
        try builder.key(token, at: name.offset)
    }

    /// The current element's type and key.
    private func readAttributes(
        _ text: Span<UInt8>
    ) throws(WireFormatError) -> (type: XMLValueType, key: XMLContent?) {
        var (type, key) = (XMLValueType.string, XMLContent?.none)
        for attribute in scanner.attributes {
            let isOurs = attribute.name.namespace == valueNamespace
            if isOurs, XMLValueType.matches(text, attribute.name.localRange, "type") {
                guard let known = XMLValueType(text, attribute.value.range) else { throw malformed("an unknown type") }
                type = known
            } else if isOurs, XMLValueType.matches(text, attribute.name.localRange, "key") {
                key = attribute.value
            } else {
                throw malformed("an attribute that typed XML does not have")
            }
        }
        return (type, key)
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: scanner.eventStart)
    }

    private func strayText() -> WireFormatError { malformed("text between the members of a container") }
}
