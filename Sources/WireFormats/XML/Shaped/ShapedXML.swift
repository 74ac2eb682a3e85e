import AdapterKit

/// The XML document that a contract prescribes, directed by a shape: elements of the members' names in declared order, in
/// the root's namespace, without attributes and without types.
///
///     <UserList xmlns="http://captechventures.com/schema">
///       <entry><UserId>100</UserId><UserName>Fake 1</UserName></entry>
///       <entry>…</entry>
///     </UserList>
///
/// - A list is one element for each item, without an element around them; a list with a name in ``wrappedLists`` is one
///   element around items of that name. A list inside of a list, or as the root, holds `item` elements.
/// - Texts are those of XML Schema: `true`, `42`, `1.5`, `INF`, `2026-11-21T08:00:00Z`, base64. CDATA is never written.
/// - A member that is absent or null has no element. So a list without items and no list at all look alike; it is read as
///   a list without items.
public struct ShapedXML: Sendable {
    /// The shape of the value.
    public let shape: Shape
    /// The name of the root element.
    public let root: XMLElementName
    /// Empty for none.
    public let namespace: String
    /// List members (by name, wherever they are) that stand in an element of their own, and the name of their items.
    public let wrappedLists: [FieldName: XMLElementName]

    /// Nil where the document's root is no element's name or the namespace holds what XML cannot carry.
    public init?(_ document: XMLDocument, _ shape: Shape, wrappedLists: [FieldName: XMLElementName] = [:]) {
        guard let root = XMLElementName(document.root) else { return nil }
        let namespace = document.namespace ?? ""
        guard Array(namespace.utf8).withUnsafeBufferPointer(XMLElementNames.isText) else { return nil }
        (self.shape, self.root, self.namespace, self.wrappedLists) = (shape, root, namespace, wrappedLists)
    }

    /// What a document says.
    public struct Reading: Sendable, Equatable {
        /// The value.
        public var value: WireValue
        /// Elements and attributes that the shape does not have; what is in them was skipped.
        public var unknown: [Unknown]
    }

    /// An element or attribute that the shape does not have.
    public struct Unknown: Sendable, Equatable {
        /// `UserList/entry/Colour`, an attribute as `UserList/@version`; names as they stand in the document.
        public var path: String
        /// Where it is.
        public var position: WireFormatError.Position
    }

    /// How many unknown parts are reported; more are skipped silently.
    public static let reportedUnknowns = 100
}

extension ShapedXML {
    /// - Throws: ``WireFormatError/Kind/notRepresentable`` where the value is not of the shape or holds text that XML
    ///   cannot carry.
    public func write(_ value: WireValue, options: WritingOptions = WritingOptions()) throws(WireFormatError) -> [UInt8]
    {
        var output = OutputBuffer()
        var writer = ShapedXMLWriter(document: self, options: options)
        try writer.writeDocument(value, to: &output)
        return output.take()
    }

    /// Elements may come in any order. One that occurs twice without being a list is an error, as is a text that its
    /// shape's type does not have. Limits of ranges and lengths are not checked here, but by ``AdapterKit/Shape/check``.
    public func read(
        _ input: [UInt8], charset: String? = nil, limits: ReadingLimits = ReadingLimits()
    ) throws(WireFormatError) -> Reading {
        let source = try XMLSource(input, charset: charset)
        var reader = ShapedXMLReader(document: self, source: source, limits: limits)
        return try reader.readDocument(source.bytes.span)
    }
}

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

/// A value to a document of a shape.
struct ShapedXMLWriter {
    let document: ShapedXML
    let options: WritingOptions
    private var depth = 0

    init(document: ShapedXML, options: WritingOptions) {
        (self.document, self.options) = (document, options)
    }

    private var textEscaping: XMLEscaping { options.xml.isCanonical ? .canonicalText : .text }

    mutating func writeDocument(_ value: WireValue, to output: inout OutputBuffer) throws(WireFormatError) {
        if !options.xml.isCanonical { output.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") }
        output.append(UInt8(ascii: "<"))
        output.append(utf8: document.root.text)
        if !document.namespace.isEmpty {
            output.append(" xmlns=\"")
            try output.appendXML(document.namespace, options.xml.isCanonical ? .canonicalAttribute : .attribute)
            output.append(UInt8(ascii: "\""))
        }
        output.append(UInt8(ascii: ">"))
        try writeContent(value, document.shape, to: &output)
        close(document.root.text, to: &output)
    }

    /// What stands between the tags of an element.
    private mutating func writeContent(
        _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard depth < options.depth else { throw .tooDeep(options.depth) }
        depth += 1
        defer { depth -= 1 }
        switch (shape, value) {
        case (.object(let object), .dictionary(let members)): try write(members, object, to: &output)
        case (.list(let element), .array(let items)):
            for item in items { try writeElement("item", item, element, to: &output) }
        case (.any, .dictionary(let members)):
            try write(members, ObjectShape("any", isOpen: true, members: []), to: &output)
        case (.any, .array(let items)):
            for item in items { try writeElement("item", item, .any, to: &output) }
        default: try writeText(value, shape, to: &output)
        }
    }

    private mutating func write(
        _ members: WireDictionary, _ object: ObjectShape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        for member in object.members {
            guard let value = members[member.name.text], !value.isNull else { continue }
            try writeMember(member.name.text, value, member.shape, document.wrappedLists[member.name], to: &output)
        }
        for entry in members where object.member(entry.key) == nil {
            guard object.isOpen, let name = XMLElementName(entry.key) else {
                throw WireFormatError(.notRepresentable, "a member that the document's shape does not have")
            }
            if !entry.value.isNull { try writeMember(name.text, entry.value, .any, nil, to: &output) }
        }
    }

    private mutating func writeMember(
        _ name: String, _ value: WireValue, _ shape: Shape, _ itemName: XMLElementName?, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard case .array(let items) = value, let element = shape.listElement else {
            return try writeElement(name, value, shape, to: &output)
        }
        if itemName != nil { open(name, to: &output) }
        for item in items { try writeElement(itemName?.text ?? name, item, element, to: &output) }
        if itemName != nil { close(name, to: &output) }
    }

    private mutating func writeElement(
        _ name: String, _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        open(name, to: &output)
        try writeContent(value, shape, to: &output)
        close(name, to: &output)
    }

    private func open(_ name: String, to output: inout OutputBuffer) {
        output.append(UInt8(ascii: "<"))
        output.append(utf8: name)
        output.append(UInt8(ascii: ">"))
    }

    private func close(_ name: String, to output: inout OutputBuffer) {
        output.append("</")
        output.append(utf8: name)
        output.append(UInt8(ascii: ">"))
    }

    private func writeText(
        _ value: WireValue, _ shape: Shape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        guard let text = ShapedXMLText.text(of: value, shape) else {
            throw WireFormatError(.notRepresentable, "a value is not of the document's shape")
        }
        try output.appendXML(text, textEscaping)
    }
}

extension Shape {
    /// What a list's items are; any value's are any values.
    var listElement: Shape? {
        switch self {
        case .list(let element): element
        case .any: .any
        default: nil
        }
    }
}
