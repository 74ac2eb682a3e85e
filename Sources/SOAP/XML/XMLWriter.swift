/// The name of an element or type: its namespace and its local name.
public struct QName: Sendable, Hashable, CustomStringConvertible {
    /// The namespace's name; empty where it is in none.
    public let namespace: String
    /// The local name.
    public let name: String

    /// Creates a qualified name with these values.
    public init(_ name: String, in namespace: String) {
        self.name = name
        self.namespace = namespace
    }

    public var description: String { namespace.isEmpty ? name : "{\(namespace)}\(name)" }
}

/// Writes an XML 1.0 document in UTF-8. A namespace is declared as the default one at each element where it changes, so
/// values need no table of prefixes; the prefixes that the caller declares himself may be used in raw names.
struct XMLWriter {
    private(set) var bytes: [UInt8] = Array("<?xml version=\"1.0\" encoding=\"utf-8\"?>".utf8)
    /// False once a text had a character that XML 1.0 cannot carry (section 2.2); U+FFFD stands in its place.
    private(set) var isRepresentable = true
    private var open: [(tag: String, namespace: String)] = []
    private var tagIsOpen = false

    typealias Attribute = (name: String, value: String)

    /// An element of this namespace, without a prefix.
    mutating func begin(_ name: QName, _ attributes: [Attribute] = []) {
        let outside = open.last?.namespace ?? ""
        start(name.name, name.namespace)
        if outside != name.namespace { attribute("xmlns", name.namespace) }
        for (name, value) in attributes { attribute(name, value) }
    }

    /// An element whose prefix is declared around it or by `attributes`.
    mutating func begin(prefixed tag: String, _ attributes: [Attribute] = []) {
        start(tag, open.last?.namespace ?? "")
        for (name, value) in attributes { attribute(name, value) }
    }

    mutating func end() {
        guard let (tag, _) = open.popLast() else { return }
        if tagIsOpen {
            bytes += "/>".utf8
            tagIsOpen = false
        } else {
            bytes += "</\(tag)>".utf8
        }
    }

    mutating func element(prefixed tag: String, _ attributes: [Attribute] = [], text: String? = nil) {
        begin(prefixed: tag, attributes)
        if let text { self.text(text) }
        end()
    }

    mutating func element(_ name: QName, _ attributes: [Attribute] = [], text: String) {
        begin(name, attributes)
        self.text(text)
        end()
    }

    mutating func text(_ text: String) {
        finishTag()
        escape(text, isAttribute: false)
    }

    private mutating func start(_ tag: String, _ namespace: String) {
        finishTag()
        bytes.append(UInt8(ascii: "<"))
        bytes += tag.utf8
        open.append((tag, namespace))
        tagIsOpen = true
    }

    private mutating func attribute(_ name: String, _ value: String) {
        bytes += " \(name)=\"".utf8
        escape(value, isAttribute: true)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func finishTag() {
        guard tagIsOpen else { return }
        bytes.append(UInt8(ascii: ">"))
        tagIsOpen = false
    }

    private mutating func escape(_ text: String, isAttribute: Bool) {
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: bytes += "&amp;".utf8
            case 0x3C: bytes += "&lt;".utf8
            case 0x3E: bytes += "&gt;".utf8
            case 0x22 where isAttribute: bytes += "&quot;".utf8
            case 0x0D: bytes += "&#13;".utf8
            case 0x09, 0x0A:
                if isAttribute {
                    bytes += "&#\(scalar.value);".utf8
                } else {
                    bytes.append(UInt8(truncatingIfNeeded: scalar.value))
                }
            case 0..<0x20, 0xFFFE, 0xFFFF:
                isRepresentable = false
                bytes += "\u{FFFD}".utf8
            case 0x20..<0x80: bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            default: bytes += String(scalar).utf8
            }
        }
    }
}

/// White space of XML; a carriage return and a line feed together are one character of Swift.
let xmlSpaces: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]

/// Without white space of XML at either end.
func trimmed(_ text: some StringProtocol) -> String {
    let front = text.drop { xmlSpaces.contains($0) }
    return String(front.reversed().drop { xmlSpaces.contains($0) }.reversed())
}
