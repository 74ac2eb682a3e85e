import AdapterKit
import WireFormats

/// An element of a CSDL document, whichever of its forms it was written in; JSON's is read into the same elements.
public struct CSDLElement: Sendable, Equatable {
    public let name: String
    /// The element's namespace name.
    public let namespace: String
    /// In the order of the document, without namespace declarations; names of other namespaces as `{namespace}name`.
    public var attributes: [Attribute]
    public var children: [CSDLElement]
    /// The text directly inside, white space around it taken off.
    public var text: String
    /// Where it stands in the document: from 1, 0 for what was made.
    public let line: Int

    public struct Attribute: Sendable, Equatable {
        public let name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(
        _ name: String, namespace: String = CSDLNamespace.edm, _ attributes: [Attribute] = [],
        children: [CSDLElement] = [], text: String = "", line: Int = 0
    ) {
        self.name = name
        self.namespace = namespace
        self.attributes = attributes
        self.children = children
        self.text = text
        self.line = line
    }

    public subscript(attribute: String) -> String? {
        attributes.first { $0.name == attribute }?.value
    }

    public func all(_ name: String) -> [CSDLElement] { children.filter { $0.name == name } }
    public func first(_ name: String) -> CSDLElement? { children.first { $0.name == name } }
}

/// Namespace names of CSDL XML 4.0 and 4.01.
public enum CSDLNamespace {
    public static let edmx = "http://docs.oasis-open.org/odata/ns/edmx"
    public static let edm = "http://docs.oasis-open.org/odata/ns/edm"
    /// Version 2's attributes of EDM elements.
    public static let metadata2 = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
}

/// Why a CSDL document is refused: safe to show, with the line where there is one.
public struct CSDLProblem: Error, Sendable, Equatable, CustomStringConvertible {
    public let message: String
    public let line: Int?

    public init(_ message: String, line: Int? = nil) {
        self.message = message
        self.line = line == 0 ? nil : line
    }

    public var description: String { line.map { "\(message) (line \($0))" } ?? message }
}

extension CSDLElement {
    /// The deepest nesting of a CSDL document.
    public static let maximumDepth = XMLElement.maximumDepth

    /// Reads an XML document. Throws ``CSDLProblem`` where it is not well-formed, with the line.
    public init(xml bytes: [UInt8]) throws(CSDLProblem) {
        do {
            self.init(try XMLElement(xml: bytes))
        } catch {
            throw CSDLProblem(error.message, line: error.position?.line)
        }
    }

    private init(_ element: XMLElement) {
        self.init(
            element.name, namespace: element.namespace,
            element.attributes.map { attribute in
                Attribute(
                    attribute.namespace.isEmpty ? attribute.name : "{\(attribute.namespace)}\(attribute.name)",
                    attribute.value)
            },
            children: element.children.map(CSDLElement.init), text: Self.trimmed(element.text), line: element.line)
    }

    private static func trimmed(_ text: String) -> String {
        let spaces: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
        let front = text.drop { spaces.contains($0) }
        return String(front.reversed().drop { spaces.contains($0) }.reversed())
    }
}

extension CSDLElement {
    private static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"

    /// The document as XML text, two spaces a level, with the prefix `edmx` for the wrapper's elements and none for the
    /// schema's.
    public var xmlText: String {
        var text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
        write(to: &text, indent: "", inherited: nil)
        return text
    }

    private func write(to output: inout String, indent: String, inherited: String?) {
        let isWrapper = namespace == CSDLNamespace.edmx
        let tag = isWrapper ? "edmx:\(name)" : name
        output += "\(indent)<\(tag)"
        if isWrapper && indent.isEmpty { output += " xmlns:edmx=\"\(CSDLNamespace.edmx)\"" }
        if !isWrapper && inherited != namespace { output += " xmlns=\"\(Self.escaped(namespace))\"" }
        for attribute in attributes where attribute.name != Self.legacyType { Self.write(attribute, to: &output) }
        guard !children.isEmpty || !text.isEmpty else {
            output += "/>\n"
            return
        }
        output += ">\(Self.escaped(text))"
        if !children.isEmpty {
            output += "\n"
            for child in children {
                child.write(to: &output, indent: indent + "  ", inherited: isWrapper ? inherited : namespace)
            }
            output += indent
        }
        output += "</\(tag)>\n"
    }

    private static func write(_ attribute: Attribute, to output: inout String) {
        guard attribute.name.hasPrefix("{"), let end = attribute.name.lastIndex(of: "}") else {
            output += " \(attribute.name)=\"\(escaped(attribute.value))\""
            return
        }
        let namespace = String(attribute.name[..<end].dropFirst())
        let local = attribute.name[attribute.name.index(after: end)...]
        if namespace == xmlNamespace {
            output += " xml:\(local)=\"\(escaped(attribute.value))\""
        } else {
            // One declaration for each such attribute; nearly no document has any.
            output +=
                " xmlns:\(local)-ns=\"\(escaped(namespace))\" \(local)-ns:\(local)=\"\(escaped(attribute.value))\""
        }
    }

    private static func escaped(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "\t", "\n", "\r": output += "&#\(scalar.value);"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}

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

/// An integer's decimal digits, straight into bytes.
public enum Digits {
    public static func append(_ number: Int64, to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, start) = (number.magnitude, digits.count)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }
}
