import AdapterKit

/// The schema of the documents that version 2 answers, made from the shapes that the answers are checked against.
enum UserSchema {
    static let mediaType = "application/xml; charset=utf-8"

    static let v2 = Array(
        UserSchemaDocument(
            namespace: UserOperations.namespace,
            elements: [
                (UserOperations.listRoot.root, UserOperations.listShape),
                (UserOperations.userRoot.root, UserOperations.userShape),
            ]
        ).text.utf8)
}

/// An XML Schema (W3C XML Schema 1.0, part 1) of documents that are directed by object shapes.
///
/// Each root is a global element, each object shape a named type of a sequence: members in declared order, in the target
/// namespace; a list member is its element from none to any number of times, a member that may be left out or null
/// from none to once.
struct UserSchemaDocument {
    let namespace: String
    let elements: [(root: String, shape: ObjectShape)]

    var text: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:tns="\(namespace.xmlEscaped)" \
        targetNamespace="\(namespace.xmlEscaped)" elementFormDefault="qualified">
        \(elements.map { "  <xs:element name=\"\($0.root)\" type=\"tns:\($0.shape.name)\"/>\n" }.joined())\
        \(types.map(Self.complexType).joined())\
        </xs:schema>

        """
    }

    /// Every object shape once, in the order in which it is met.
    private var types: [ObjectShape] {
        var found: [ObjectShape] = []
        for element in elements { Self.collect(element.shape, into: &found) }
        return found
    }

    private static func collect(_ object: ObjectShape, into found: inout [ObjectShape]) {
        guard !found.contains(where: { $0.name == object.name }) else { return }
        found.append(object)
        for member in object.members {
            if case .object(let inner) = member.shape.item { collect(inner, into: &found) }
        }
    }

    private static func complexType(_ object: ObjectShape) -> String {
        """
          <xs:complexType name="\(object.name)">
            <xs:sequence>
        \(object.members.map(element).joined())\
            </xs:sequence>
          </xs:complexType>

        """
    }

    private static func element(_ member: Member) -> String {
        let open = "      <xs:element name=\"\(member.name)\"\(occurrence(member))"
        switch member.shape.item.schemaType {
        case .named(let name): return "\(open) type=\"\(name)\"/>\n"
        case .restriction(let base, let facets):
            let facets = facets.map { "<xs:\($0.name) value=\"\($0.value.xmlEscaped)\"/>" }.joined()
            return """
                \(open)>
                        <xs:simpleType><xs:restriction base="\(base)">\(facets)</xs:restriction></xs:simpleType>
                      </xs:element>

                """
        }
    }

    private static func occurrence(_ member: Member) -> String {
        if case .list = member.shape { return " minOccurs=\"0\" maxOccurs=\"unbounded\"" }
        return member.isRequired && !member.isNullable ? "" : " minOccurs=\"0\""
    }
}

extension String {
    /// For text and attribute values (XML 1.0, section 2.4).
    fileprivate var xmlEscaped: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// The form of a shape in a schema: a type by its name, or a built-in one with limits (XML Schema 1.0, part 2).
enum UserSchemaType {
    case named(String)
    case restriction(of: String, facets: [(name: String, value: String)])

    fileprivate static func limited(_ base: String, _ facets: [(name: String, value: String)]) -> UserSchemaType {
        facets.isEmpty ? .named(base) : .restriction(of: base, facets: facets)
    }
}

extension Shape {
    /// The shape of a list's items, any other shape itself: XML repeats the element.
    var item: Shape {
        if case .list(let item) = self { item } else { self }
    }

    var schemaType: UserSchemaType {
        switch self {
        case .any, .list: .named("xs:anyType")
        case .bool: .named("xs:boolean")
        case .integer(let limits): limits.schemaType
        case .double: .named("xs:double")
        case .decimal(let scale): .limited("xs:decimal", scale.map { [("fractionDigits", "\($0)")] } ?? [])
        case .string(let limits): limits.schemaType
        case .choice(let texts): .restriction(of: "xs:string", facets: texts.map { ("enumeration", $0) })
        case .date: .named("xs:dateTime")
        case .data: .named("xs:base64Binary")
        case .object(let shape): .named("tns:\(shape.name)")
        }
    }
}

extension IntegerRange {
    /// `xs:int` where 32 bits are enough, since generated clients make their variables from it.
    fileprivate var schemaType: UserSchemaType {
        let int = Int64(Int32.min)...Int64(Int32.max)
        let isInt = int.contains(range.lowerBound) && int.contains(range.upperBound)
        let whole = isInt ? int : Int64.min...Int64.max
        var facets: [(name: String, value: String)] = []
        if range.lowerBound > whole.lowerBound { facets.append(("minInclusive", "\(range.lowerBound)")) }
        if range.upperBound < whole.upperBound { facets.append(("maxInclusive", "\(range.upperBound)")) }
        return .limited(isInt ? "xs:int" : "xs:long", facets)
    }
}

extension TextLimits {
    fileprivate var schemaType: UserSchemaType {
        var facets: [(name: String, value: String)] = []
        if minimumLength > 0 { facets.append(("minLength", "\(minimumLength)")) }
        if maximumLength < Self.defaultMaximum { facets.append(("maxLength", "\(maximumLength)")) }
        return .limited("xs:string", facets)
    }
}
