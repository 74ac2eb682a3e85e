/// An element of an XML document with everything inside of it. The document has been read by the gateway's own scanner:
/// it is well-formed, has no DOCTYPE, and is no deeper than ``maximumDepth``.
public struct XMLElement: Sendable, Equatable {
    /// The deepest nesting that is taken.
    public static let maximumDepth = 64

    /// The local name.
    public let name: String
    /// The namespace's name; empty where it is in none.
    public let namespace: String
    /// In the order of the document, without namespace declarations.
    public var attributes: [Attribute] = []
    /// The elements directly inside, in their order.
    public var children: [XMLElement] = []
    /// The text directly inside, as it is.
    public var text = ""
    /// Where it begins: from 1.
    public let line: Int
    /// The namespaces in force by their prefixes, the default one by an empty prefix: for qualified names in values.
    public let prefixes: [String: String]

    /// An attribute of an element.
    public struct Attribute: Sendable, Equatable {
        /// The local name.
        public let name: String
        /// The namespace's name; empty where it is in none.
        public let namespace: String
        /// The value, references resolved.
        public let value: String
    }

    /// Reads a document. Throws `malformed`, with the place, and `limitExceeded` beyond ``maximumDepth`` and for more than
    /// 256 namespace declarations at one place.
    public init(xml bytes: [UInt8]) throws(WireFormatError) {
        try self.init(XMLSource(bytes))
    }

    /// Reads a document. Throws as ``init(xml:)`` does.
    public init(_ source: XMLSource) throws(WireFormatError) {
        var builder = XMLElementBuilder(source: source.bytes)
        var scanner = XMLScanner(start: source.start, maximumDepth: Self.maximumDepth)
        self = try builder.read(&scanner)
    }

    init(name: String, namespace: String, line: Int, prefixes: [String: String]) {
        self.name = name
        self.namespace = namespace
        self.line = line
        self.prefixes = prefixes
    }

    /// Whether this is its name.
    public func `is`(_ name: String, in namespace: String) -> Bool { self.name == name && self.namespace == namespace }

    /// The value of the attribute of no namespace, or of this one.
    public func attribute(_ name: String, in namespace: String = "") -> String? {
        attributes.first { $0.name == name && $0.namespace == namespace }?.value
    }

    /// The elements directly inside that have this name, in their order.
    public func all(_ name: String, in namespace: String) -> [XMLElement] {
        children.filter { $0.is(name, in: namespace) }
    }

    /// The first element directly inside that has this name.
    public func first(_ name: String, in namespace: String) -> XMLElement? {
        children.first { $0.is(name, in: namespace) }
    }
}

/// Puts the events of one document together.
private struct XMLElementBuilder {
    let source: [UInt8]
    private var open: [XMLElement] = []
    /// For each of them, how many namespace declarations are in force inside of it.
    private var scopes: [Int] = []
    private var line = 1
    private var counted = 0

    init(source: [UInt8]) {
        self.source = source
    }

    mutating func read(_ scanner: inout XMLScanner) throws(WireFormatError) -> XMLElement {
        while true {
            switch try scanner.next(source.span) {
            case .startElement: open.append(start(scanner))
            case .text, .cdata: appendText(scanner.content)
            case .endElement:
                guard let root = close() else { continue }
                // What follows the root is held to the rules too.
                while try scanner.next(source.span) != .endDocument {}
                return root
            case .comment, .processingInstruction: continue
            case .endDocument: throw WireFormatError(.malformed, "the document is empty")
            }
        }
    }

    private mutating func start(_ scanner: borrowing XMLScanner) -> XMLElement {
        countLines(to: scanner.eventStart)
        let bindings = scanner.namespaces.bindings
        var prefixes = open.last?.prefixes ?? [:]
        // Most elements declare none, and share those around them.
        let outside = open.isEmpty ? 0 : scopes[open.count - 1]
        if bindings.count > outside {
            for binding in bindings[outside...] {
                prefixes[text(binding.prefix)] = String(
                    decoding: scanner.namespaces.name(binding.namespace), as: UTF8.self)
            }
        }
        scopes.append(bindings.count)
        var element = XMLElement(
            name: text(scanner.name.localRange),
            namespace: String(decoding: scanner.namespaces.name(scanner.name.namespace), as: UTF8.self), line: line,
            prefixes: prefixes)
        for attribute in scanner.attributes {
            element.attributes.append(
                XMLElement.Attribute(
                    name: text(attribute.name.localRange),
                    namespace: String(decoding: scanner.namespaces.name(attribute.name.namespace), as: UTF8.self),
                    value: String(decoding: XMLText.attributeValue(attribute.value, source.span), as: UTF8.self)))
        }
        return element
    }

    private mutating func appendText(_ content: XMLContent) {
        var bytes: [UInt8] = []
        XMLText.append(content, source.span, to: &bytes)
        open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
    }

    /// The root, once it is complete.
    private mutating func close() -> XMLElement? {
        let done = open.removeLast()
        scopes.removeLast()
        guard let parent = open.indices.last else { return done }
        open[parent].children.append(done)
        return nil
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: source[range], as: UTF8.self) }

    private mutating func countLines(to offset: Int) {
        for byte in source[counted..<offset] where byte == 0x0A { line += 1 }
        counted = offset
    }
}
