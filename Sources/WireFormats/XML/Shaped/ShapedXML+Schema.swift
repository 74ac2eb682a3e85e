import AdapterKit

extension ShapedXML {
    /// The XML Schema (1.0) of the documents that ``write(_:options:)`` makes. Types stand where they are used, without
    /// names, so that equal names of different shapes cannot meet.
    public func schema() throws(WireFormatError) -> [UInt8] {
        var writer = ShapedXMLSchemaWriter(document: self)
        return try writer.write()
    }
}

private struct ShapedXMLSchemaWriter {
    let document: ShapedXML
    private var output: [String] = []
    private var depth = 1

    init(document: ShapedXML) { self.document = document }

    mutating func write() throws(WireFormatError) -> [UInt8] {
        var namespace = OutputBuffer()
        try namespace.appendXML(document.namespace, .attribute)
        let name = String(decoding: namespace.take(), as: UTF8.self)
        element(document.root.text, document.shape, occurs: "")
        let target = name.isEmpty ? "" : " targetNamespace=\"\(name)\""
        return Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"\(target) elementFormDefault="qualified">
            \(output.joined(separator: "\n"))
            </xs:schema>

            """.utf8)
    }

    private mutating func line(_ text: String) {
        output.append(String(repeating: "  ", count: depth) + text)
    }

    private mutating func nested(_ tag: String, _ body: (inout Self) -> Void) {
        line("<\(tag)>")
        depth += 1
        body(&self)
        depth -= 1
        line("</\(tag.prefix { $0 != " " })>")
    }

    private mutating func element(_ name: String, _ shape: Shape, occurs: String) {
        switch shape {
        case .object(let object) where !object.isOpen:
            nested("xs:element name=\"\(name)\"\(occurs)") { $0.sequence { $0.members(object) } }
        case .list(let element):
            nested("xs:element name=\"\(name)\"\(occurs)") {
                $0.sequence { $0.element("item", element, occurs: $0.manyTimes) }
            }
        case .any, .object: line("<xs:element name=\"\(name)\" type=\"xs:anyType\"\(occurs)/>")
        default:
            nested("xs:element name=\"\(name)\"\(occurs)") { $0.simpleType(shape) }
        }
    }

    private let manyTimes = " minOccurs=\"0\" maxOccurs=\"unbounded\""

    private mutating func sequence(_ body: (inout Self) -> Void) {
        nested("xs:complexType") { $0.nested("xs:sequence", body) }
    }

    private mutating func members(_ object: ObjectShape) {
        for member in object.members {
            let name = member.name.text
            if let element = member.shape.listElement, let item = document.wrappedLists[member.name] {
                nested("xs:element name=\"\(name)\" minOccurs=\"0\"") {
                    $0.sequence { $0.element(item.text, element, occurs: $0.manyTimes) }
                }
            } else if case .list(let element) = member.shape {
                self.element(name, element, occurs: manyTimes)
            } else {
                let isOptional = !member.isRequired || member.isNullable
                element(name, member.shape, occurs: isOptional ? " minOccurs=\"0\"" : "")
            }
        }
    }

    private mutating func simpleType(_ shape: Shape) {
        let (base, facets) = ShapedXMLSchemaType.restriction(shape)
        nested("xs:simpleType") {
            $0.nested("xs:restriction base=\"xs:\(base)\"") { writer in
                for (name, value) in facets { writer.line("<xs:\(name) value=\"\(value)\"/>") }
            }
        }
    }
}

/// Scalars' types (XML Schema 1.0, part 2).
private enum ShapedXMLSchemaType {
    typealias Facet = (name: String, value: String)

    static func restriction(_ shape: Shape) -> (base: String, facets: [Facet]) {
        switch shape {
        case .bool: ("boolean", [])
        case .integer(let limits):
            (
                "long",
                [
                    ("minInclusive", String(limits.range.lowerBound)),
                    ("maxInclusive", String(limits.range.upperBound)),
                ]
            )
        case .double: ("double", [])
        case .decimal(let scale): ("decimal", scale.map { [("fractionDigits", String($0))] } ?? [])
        case .string(let limits):
            ("string", [("minLength", String(limits.minimumLength)), ("maxLength", String(limits.maximumLength))])
        case .choice(let choices): ("string", choices.map { ("enumeration", escaped($0)) })
        case .date: ("dateTime", [])
        case .data(let maximum): ("base64Binary", [("maxLength", String(maximum))])
        case .any, .list, .object: ("string", [])
        }
    }

    private static func escaped(_ text: String) -> String {
        var output = OutputBuffer()
        // A choice that XML cannot carry cannot be written either, so it needs no facet of its own.
        guard (try? output.appendXML(text, .attribute)) != nil else { return "" }
        return String(decoding: output.take(), as: UTF8.self)
    }
}
