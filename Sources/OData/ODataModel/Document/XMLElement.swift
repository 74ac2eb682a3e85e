import AdapterKit
import WireFormats

/// An element of an XML document with everything inside of it. The document has been read by the gateway's own scanner:
/// it is well-formed, has no DOCTYPE, and is no deeper than ``maximumDepth``.
public struct XMLElement: Sendable, Equatable {
    /// The deepest nesting that is taken.
    public static let maximumDepth = 64

    public let name: String
    /// The namespace's name; empty where it is in none.
    public let namespace: String
    /// In the order of the document, without namespace declarations.
    public var attributes: [Attribute] = []
    public var children: [XMLElement] = []
    /// The text directly inside, as it is.
    public var text = ""
    /// Where it begins: from 1.
    public let line: Int

    public struct Attribute: Sendable, Equatable {
        public let name: String
        public let namespace: String
        public let value: String
    }

    /// Throws `malformed`, with the place.
    public init(xml bytes: [UInt8]) throws(WireFormatError) {
        let source = try XMLSource(bytes)
        var builder = XMLElementBuilder(source: source.bytes)
        var scanner = XMLScanner(start: source.start, maximumDepth: Self.maximumDepth)
        self = try builder.read(&scanner)
    }

    init(name: String, namespace: String, line: Int) {
        self.name = name
        self.namespace = namespace
        self.line = line
    }

    public func `is`(_ name: String, in namespace: String) -> Bool { self.name == name && self.namespace == namespace }

    /// The value of the attribute of no namespace, or of this one.
    public func attribute(_ name: String, in namespace: String = "") -> String? {
        attributes.first { $0.name == name && $0.namespace == namespace }?.value
    }

    public func all(_ name: String, in namespace: String) -> [XMLElement] {
        children.filter { $0.is(name, in: namespace) }
    }

    public func first(_ name: String, in namespace: String) -> XMLElement? {
        children.first { $0.is(name, in: namespace) }
    }
}

/// Puts the events of one document together.
private struct XMLElementBuilder {
    let source: [UInt8]
    private var open: [XMLElement] = []
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
                if let root = close() { return root }
            case .comment, .processingInstruction: continue
            case .endDocument: throw WireFormatError(.malformed, "the document is empty")
            }
        }
    }

    private mutating func start(_ scanner: borrowing XMLScanner) -> XMLElement {
        countLines(to: scanner.eventStart)
        var element = XMLElement(
            name: text(scanner.name.localRange),
            namespace: String(decoding: scanner.namespaces.name(scanner.name.namespace), as: UTF8.self), line: line)
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
