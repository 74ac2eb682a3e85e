import ValueTree

/// Reads a foreign document to a tape.
///
/// | XML | value |
/// |---|---|
/// | an element with text only | a string |
/// | any other element | a dictionary: attributes as `@name`, then its elements by name |
/// | an element with attributes and text | the text is the member `$` |
/// | elements of one name behind each other | one member with an array |
/// | mixed content, or elements of one name apart from each other | `$` is an array of what stands there in order: texts as strings, elements as dictionaries with one member |
///
/// Names are expanded: an element in another namespace than its parent is `{namespace}name` (`{}name` for none), one in
/// the same namespace just its name; an attribute in a namespace is `@{namespace}name`, `@xml:name` for the one of XML.
/// Prefixes are not kept. An XML name holds none of `@ $ {`, so these keys cannot collide. White space between elements is
/// not kept, nor are comments and processing instructions.
struct UntypedXMLReader: ~Copyable {
    var scanner: XMLScanner
    var builder: TapeBuilder
    var nodes: [Node] = []
    var attributes: [(key: TapeToken, value: TapeToken)] = []
    /// The open elements: node and namespace.
    private var open: [(node: Int, namespace: Int32)] = []

    /// An element or a piece of text, linked to its next sibling; -1 for none.
    struct Node {
        /// An element's key or a text's string.
        var token: TapeToken
        var offset: Int
        var isElement: Bool
        var attributes = 0..<0
        var firstChild = -1
        var lastChild = -1
        var next = -1
        /// A text of more than white space.
        var isSignificant = false
    }

    /// The scanner has just met the root element.
    init(_ scanner: consuming XMLScanner, _ builder: consuming TapeBuilder) {
        self.scanner = scanner
        self.builder = builder
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ text: Span<UInt8>, root: XMLFormat.UntypedRoot) throws(WireFormatError) {
        try openElement(text)
        var event = try scanner.next(text)
        while true {
            event = try readText(event, text)
            if event == .startElement { try openElement(text) } else { open.removeLast() }
            if open.isEmpty { break }
            event = try scanner.next(text)
        }
        while try scanner.next(text) != .endDocument {}
        try emitRoot(root, text)
    }

    private mutating func openElement(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = attributes.count
        for attribute in scanner.attributes {
            let value = builder.aside(.string, XMLText.attributeValue(attribute.value, text))
            attributes.append((key(ofAttribute: attribute.name, text), value))
        }
        let name = scanner.name
        let parent = open.last?.namespace ?? XMLNamespaces.none
        var node = Node(token: key(ofElement: name, in: parent, text), offset: scanner.eventStart, isElement: true)
        node.attributes = start..<attributes.count
        open.append((try append(node), name.namespace))
    }

    /// Adds a node behind the last one of the open element.
    private mutating func append(_ node: Node) throws(WireFormatError) -> Int {
        guard nodes.count + attributes.count < builder.limits.values else {
            throw builder.tooManyValues(at: scanner.eventStart)
        }
        let index = nodes.count
        nodes.append(node)
        guard let parent = open.last?.node else { return index }
        if nodes[parent].lastChild < 0 {
            nodes[parent].firstChild = index
        } else {
            nodes[nodes[parent].lastChild].next = index
        }
        nodes[parent].lastChild = index
        return index
    }

    /// Takes text up to the next tag, in however many pieces it comes, and gives the tag's event.
    private mutating func readText(_ first: XMLEvent, _ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        var event = first
        var collector = XMLTextCollector()
        let offset = scanner.eventStart
        while event != .startElement, event != .endElement {
            if event == .text || event == .cdata { collector.add(scanner.content, isCDATA: event == .cdata, text) }
            event = try scanner.next(text)
        }
        if let token = collector.token(&builder, text) {
            var node = Node(token: token, offset: offset, isElement: false)
            node.isSignificant = collector.isSignificant
            _ = try append(node)
        }
        return event
    }
}

/// Puts the pieces of a text together, in one copy; a single piece stays in the input.
private struct XMLTextCollector {
    private(set) var isSignificant = false
    private var first: XMLContent?
    private var pieces: [UInt8] = []

    mutating func add(_ content: XMLContent, isCDATA: Bool, _ text: Span<UInt8>) {
        isSignificant = isSignificant || isCDATA || !XMLText.isSpace(content, text)
        if first == nil, pieces.isEmpty {
            first = content
            return
        }
        if let earlier = first { XMLText.append(earlier, text, to: &pieces) }
        first = nil
        XMLText.append(content, text, to: &pieces)
    }

    /// Nil where there is no text.
    func token(_ builder: inout TapeBuilder, _ text: Span<UInt8>) -> TapeToken? {
        if let first, first.resolving == .none {
            let range = first.range
            return range.isEmpty ? nil : TapeToken(.string, offset: range.lowerBound, length: range.count)
        }
        var resolved = pieces
        if let first { XMLText.append(first, text, to: &resolved) }
        return resolved.isEmpty ? nil : builder.aside(.string, resolved)
    }
}
