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

extension UntypedXMLReader {
    mutating func key(ofElement name: XMLName, in parent: Int32, _ text: Span<UInt8>) -> TapeToken {
        let local = name.localRange
        guard name.namespace != parent else {
            return TapeToken(.key, offset: local.lowerBound, length: local.count)
        }
        return builder.aside(.key, expanded(name, text))
    }

    mutating func key(ofAttribute name: XMLName, _ text: Span<UInt8>) -> TapeToken {
        let mark = [UInt8(ascii: "@")]
        switch name.namespace {
        case XMLNamespaces.none: return builder.aside(.key, mark + Array(copying: text, name.range))
        case XMLNamespaces.xml: return builder.aside(.key, Array("@xml:".utf8) + Array(copying: text, name.localRange))
        default: return builder.aside(.key, mark + expanded(name, text))
        }
    }

    private func expanded(_ name: XMLName, _ text: Span<UInt8>) -> [UInt8] {
        [UInt8(ascii: "{")] + scanner.namespaces.name(name.namespace) + [UInt8(ascii: "}")]
            + Array(copying: text, name.localRange)
    }
}

/// From the elements to the tape. Recursion is bounded by the depth that the scanner allows.
extension UntypedXMLReader {
    mutating func emitRoot(_ root: XMLFormat.UntypedRoot, _ text: Span<UInt8>) throws(WireFormatError) {
        guard root == .named else { return try emitElement(0, text) }
        try emitAlone(0, text)
    }

    /// An element as a dictionary of one member.
    private mutating func emitAlone(_ index: Int, _ text: Span<UInt8>) throws(WireFormatError) {
        let offset = nodes[index].offset
        try builder.begin(.dictionary, at: offset)
        try builder.key(nodes[index].token, at: offset)
        try emitElement(index, text)
        try builder.end(at: offset)
    }

    private mutating func emitElement(_ index: Int, _ text: Span<UInt8>) throws(WireFormatError) {
        let node = nodes[index]
        let content = survey(node)
        if node.attributes.isEmpty, content.elements == 0 {
            let token = content.firstText.map { nodes[$0].token } ?? TapeToken(.string, offset: 0, length: 0)
            return try builder.bytes(token, at: node.offset)
        }
        try builder.begin(.dictionary, at: node.offset)
        try emitAttributes(node)
        if content.elements == 0 {
            if let only = content.firstText { try emitText(nodes[only].token, at: node.offset) }
        } else if content.isMixed || !runsAreDistinct(node, text) {
            try emitOrdered(node, text)
        } else {
            try emitRuns(node, text)
        }
        try builder.end(at: node.offset)
    }

    private func survey(_ node: Node) -> (elements: Int, firstText: Int?, isMixed: Bool) {
        var (elements, firstText, isMixed) = (0, Int?.none, false)
        var child = node.firstChild
        while child >= 0 {
            if nodes[child].isElement { elements += 1 } else { firstText = firstText ?? child }
            isMixed = isMixed || nodes[child].isSignificant
            child = nodes[child].next
        }
        return (elements, firstText, isMixed)
    }

    private mutating func emitAttributes(_ node: Node) throws(WireFormatError) {
        for index in node.attributes {
            try builder.key(attributes[index].key, at: node.offset)
            try builder.bytes(attributes[index].value, at: node.offset)
        }
    }

    private mutating func emitText(_ token: TapeToken, at offset: Int) throws(WireFormatError) {
        try builder.key(builder.aside(.key, CollectionOfOne(UInt8(ascii: "$"))), at: offset)
        try builder.bytes(token, at: offset)
    }

    /// Texts and elements in their order.
    private mutating func emitOrdered(_ node: Node, _ text: Span<UInt8>) throws(WireFormatError) {
        try builder.key(builder.aside(.key, CollectionOfOne(UInt8(ascii: "$"))), at: node.offset)
        try builder.begin(.array, at: node.offset)
        let keepsText = survey(node).isMixed
        var child = node.firstChild
        while child >= 0 {
            if nodes[child].isElement {
                try emitAlone(child, text)
            } else if keepsText {
                try builder.bytes(nodes[child].token, at: nodes[child].offset)
            }
            child = nodes[child].next
        }
        try builder.end(at: node.offset)
    }

    /// Elements by name, several of one name as an array.
    private mutating func emitRuns(_ node: Node, _ text: Span<UInt8>) throws(WireFormatError) {
        var first = nextElement(node.firstChild)
        while first >= 0 {
            try builder.key(nodes[first].token, at: nodes[first].offset)
            var next = nextElement(nodes[first].next)
            guard next >= 0, hasSameName(first, next, text) else {
                try emitElement(first, text)
                first = next
                continue
            }
            try builder.begin(.array, at: nodes[first].offset)
            try emitElement(first, text)
            while next >= 0, hasSameName(first, next, text) {
                try emitElement(next, text)
                next = nextElement(nodes[next].next)
            }
            try builder.end(at: nodes[first].offset)
            first = next
        }
    }
}

extension UntypedXMLReader {
    /// The element at `index` or the first one behind it.
    private func nextElement(_ index: Int) -> Int {
        var index = index
        while index >= 0, !nodes[index].isElement { index = nodes[index].next }
        return index
    }

    /// Whether elements of one name stand behind each other everywhere.
    private func runsAreDistinct(_ node: Node, _ text: Span<UInt8>) -> Bool {
        var seen: Set<[UInt8]> = []
        var (previous, index) = (-1, nextElement(node.firstChild))
        while index >= 0 {
            if previous < 0 || !hasSameName(previous, index, text) {
                guard seen.insert(name(index, text)).inserted else { return false }
            }
            previous = index
            index = nextElement(nodes[index].next)
        }
        return true
    }

    private func hasSameName(_ left: Int, _ right: Int, _ text: Span<UInt8>) -> Bool {
        let (a, b) = (nodes[left].token, nodes[right].token)
        guard a.length == b.length, a.storage == b.storage else { return false }
        for index in 0..<a.length where byte(a, index, text) != byte(b, index, text) { return false }
        return true
    }

    private func byte(_ token: TapeToken, _ index: Int, _ text: Span<UInt8>) -> UInt8 {
        token.storage == .side ? builder.side[token.offset + index] : text[token.offset + index]
    }

    private func name(_ index: Int, _ text: Span<UInt8>) -> [UInt8] {
        let token = nodes[index].token
        return (0..<token.length).map { byte(token, $0, text) }
    }
}
