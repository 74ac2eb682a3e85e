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

    /// Reads XML or JSON, by how the document begins. Throws ``CSDLProblem`` for neither.
    public init(csdl bytes: [UInt8]) throws(CSDLProblem) {
        let isJSON = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "{")
        self = try isJSON ? CSDLElement(json: bytes) : CSDLElement(xml: bytes)
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
