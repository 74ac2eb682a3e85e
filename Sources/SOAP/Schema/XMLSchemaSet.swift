/// Namespaces of XML Schema and of WSDL 1.1.
enum XSD {
    static let namespace = "http://www.w3.org/2001/XMLSchema"
    static let instance = "http://www.w3.org/2001/XMLSchema-instance"
    static let wsdl = "http://schemas.xmlsoap.org/wsdl/"
    static let soap11Binding = "http://schemas.xmlsoap.org/wsdl/soap/"
    static let soap12Binding = "http://schemas.xmlsoap.org/wsdl/soap12/"
    static let httpTransport = "http://schemas.xmlsoap.org/soap/http"
    static let encoding = "http://schemas.xmlsoap.org/soap/encoding/"
}

/// What is not mapped, or wrong, in a WSDL or a schema: for operators, with its place.
public struct SchemaProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file as the one that names it has it; empty: none.
    public let file: String
    /// From 1; 0: none.
    public let line: Int
    /// One sentence without its end.
    public let message: String

    init(_ message: String, file: String = "", line: Int = 0) {
        self.file = file
        self.line = line
        self.message = message
    }

    public var description: String {
        file.isEmpty ? message : line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)"
    }
}

/// What a text of a simple type is read as.
public enum SimpleKind: String, Sendable, CaseIterable {
    /// Every type that has no better one: dates without a time, durations, QNames, unions.
    case string
    case boolean
    /// Every integer; beyond 64 bits it stays a decimal.
    case integer
    case decimal
    case double
    /// `dateTime`; without an offset it stays a text.
    case dateTime
    case base64Binary
    case hexBinary
}

/// A simple type of XML Schema.
public struct SimpleType: Sendable, Equatable {
    /// A constraining facet.
    public struct Facet: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// What one item is read as.
    public let kind: SimpleKind
    /// Whether it is a list of items, separated by white space.
    public let isList: Bool
    /// The built-in type that it is made from, for the writer of schemas.
    let base: String
    /// For the writer of schemas. A reader does not check them: what receives the values does.
    let facets: [Facet]

    init(_ kind: SimpleKind, base: String, isList: Bool = false, facets: [Facet] = []) {
        self.kind = kind
        self.base = base
        self.isList = isList
        self.facets = facets
    }

    /// The texts that are allowed; empty: all.
    public var enumeration: [String] { facets.filter { $0.name == "enumeration" }.map(\.value) }

    /// The built-in types that are mapped to something else than text.
    private static let builtIn: [String: SimpleKind] = {
        var kinds: [String: SimpleKind] = [
            "boolean": .boolean, "decimal": .decimal, "double": .double, "float": .double, "dateTime": .dateTime,
            "base64Binary": .base64Binary, "hexBinary": .hexBinary,
        ]
        for name in [
            "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
            "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
        ] { kinds[name] = .integer }
        for name in [
            "string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN", "ID", "IDREF", "ENTITY",
            "QName", "anyURI", "NOTATION", "date", "time", "duration", "gYear", "gYearMonth", "gMonth", "gMonthDay",
            "gDay", "anySimpleType", "anyAtomicType", "dateTimeStamp", "yearMonthDuration", "dayTimeDuration",
        ] { kinds[name] = .string }
        return kinds
    }()

    /// The built-in type of this name; nil: there is none.
    static func builtIn(_ name: String) -> SimpleType? {
        if ["NMTOKENS", "IDREFS", "ENTITIES"].contains(name) { return SimpleType(.string, base: name, isList: true) }
        return builtIn[name].map { SimpleType($0, base: name) }
    }
}

/// Which type an element or an attribute has.
public indirect enum XMLTypeReference: Sendable, Equatable {
    /// A type that has a name; the ones of XML Schema itself are built in.
    case named(QName)
    /// A type that is written where it is used.
    case anonymous(XMLSchemaType)
}

/// A type of a schema.
public enum XMLSchemaType: Sendable, Equatable {
    case simple(SimpleType)
    case complex(ComplexType)
    /// `anyType`: whatever there is.
    case any
    /// Something that is not mapped, and why.
    case unmapped(SchemaProblem)
}

/// A complex type of XML Schema, what it extends included.
public struct ComplexType: Sendable, Equatable {
    /// The elements, in their order; nil: none.
    public internal(set) var particle: Particle?
    /// The type of the text where there are no elements (`simpleContent`); nil: none.
    public internal(set) var text: XMLTypeReference?
    /// The attributes.
    public internal(set) var attributes: [AttributeDeclaration]

    init(_ particle: Particle? = nil, text: XMLTypeReference? = nil, attributes: [AttributeDeclaration] = []) {
        self.particle = particle
        self.text = text
        self.attributes = attributes
    }

    /// Every element that may stand directly inside, in order.
    public var elements: [ElementDeclaration] { particle?.elements ?? [] }

    /// The member that carries the text beside attributes.
    public static let textMember = "#text"
    /// What the member of an attribute begins with, before the attribute's name.
    public static let attributePrefix = "@"
}

/// An attribute of a complex type.
public struct AttributeDeclaration: Sendable, Equatable {
    /// The name; its namespace is mostly none.
    public let name: QName
    /// A simple type.
    public let type: XMLTypeReference
    /// Whether it has to be there.
    public let isRequired: Bool
}

/// How often something may come.
public struct Occurrence: Sendable, Equatable {
    /// At least so often.
    public let minimum: Int
    /// At most so often; nil: without a limit.
    public let maximum: Int?

    /// It comes once in every message.
    public static let once = Occurrence(minimum: 1, maximum: 1)
    static let optional = Occurrence(minimum: 0, maximum: 1)
    static let many = Occurrence(minimum: 0, maximum: nil)

    /// Whether it may come more than once.
    public var repeats: Bool { maximum.map { $0 > 1 } ?? true }
}

/// Elements in their order, or a choice of them.
public indirect enum Particle: Sendable, Equatable {
    /// How the particles of a group are put together.
    public enum Compositor: String, Sendable {
        case sequence, choice, all
    }

    case element(ElementDeclaration)
    case group(Compositor, [Particle], Occurrence)
    /// Elements that the schema does not name.
    case any(Occurrence)

    var elements: [ElementDeclaration] {
        switch self {
        case .element(let element): [element]
        case .group(let compositor, let particles, let occurrence):
            particles.flatMap(\.elements).map { element in
                if occurrence.repeats { return element.repeating }
                return occurrence.minimum == 0 || compositor == .choice ? element.optional : element
            }
        case .any: []
        }
    }
}

/// An element of a schema.
public struct ElementDeclaration: Sendable, Equatable {
    /// The name; in no namespace where the schema's `elementFormDefault` says so.
    public let name: QName
    /// The type.
    public let type: XMLTypeReference
    /// How often it may come.
    public let occurrence: Occurrence
    /// Whether `xsi:nil` may stand for the value.
    public let isNillable: Bool

    init(_ name: QName, _ type: XMLTypeReference, _ occurrence: Occurrence = .once, isNillable: Bool = false) {
        self.name = name
        self.type = type
        self.occurrence = occurrence
        self.isNillable = isNillable
    }

    fileprivate var optional: ElementDeclaration {
        ElementDeclaration(
            name, type, Occurrence(minimum: 0, maximum: occurrence.maximum), isNillable: isNillable)
    }

    fileprivate var repeating: ElementDeclaration {
        ElementDeclaration(name, type, .many, isNillable: isNillable)
    }
}

/// The types and elements of one or more schemas.
public struct XMLSchemaSet: Sendable, Equatable {
    /// In the order in which they were read or declared.
    public private(set) var typeNames: [QName] = []
    /// In the order in which they were read or declared.
    public private(set) var elementNames: [QName] = []
    private var types: [QName: XMLSchemaType] = [:]
    private var elements: [QName: ElementDeclaration] = [:]

    init() {}

    mutating func add(_ type: XMLSchemaType, named name: QName) {
        if types.updateValue(type, forKey: name) == nil { typeNames.append(name) }
    }

    mutating func add(_ element: ElementDeclaration) {
        if elements.updateValue(element, forKey: element.name) == nil { elementNames.append(element.name) }
    }

    /// The global element of this name.
    public func element(_ name: QName) -> ElementDeclaration? { elements[name] }

    /// The type that is referred to; one that is nowhere is ``XMLSchemaType/unmapped(_:)``.
    public func type(_ reference: XMLTypeReference) -> XMLSchemaType {
        switch reference {
        case .anonymous(let type): type
        case .named(let name): type(named: name) ?? .unmapped(SchemaProblem("there is no type \(name)"))
        }
    }

    func type(named name: QName) -> XMLSchemaType? {
        if let type = types[name] { return type }
        guard name.namespace == XSD.namespace else { return nil }
        return name.name == "anyType" ? .any : SimpleType.builtIn(name.name).map(XMLSchemaType.simple)
    }

    /// What is not mapped in an element's type and everything inside of it.
    public func problems(in element: ElementDeclaration) -> [SchemaProblem] {
        var found: [SchemaProblem] = []
        var seen: Set<QName> = []
        var pending = [element.type]
        while let reference = pending.popLast() {
            if case .named(let name) = reference, !seen.insert(name).inserted { continue }
            switch type(reference) {
            case .simple, .any: continue
            case .unmapped(let problem): if !found.contains(problem) { found.append(problem) }
            case .complex(let complex):
                pending += complex.elements.map(\.type) + complex.attributes.map(\.type)
                if let text = complex.text { pending.append(text) }
            }
        }
        return found
    }
}
