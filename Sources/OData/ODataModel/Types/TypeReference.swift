/// The type of a property, a parameter or a result, as the model has resolved it.
public struct TypeReference: Sendable, Hashable {
    public let type: TypeName
    public let isCollection: Bool
    /// For a collection: whether its items may be null.
    public let isNullable: Bool
    public let facets: Facets

    public init(_ type: TypeName, isCollection: Bool = false, isNullable: Bool = true, facets: Facets = Facets()) {
        self.type = type
        self.isCollection = isCollection
        self.isNullable = isNullable
        self.facets = facets
    }

    /// The type of one item of the collection; the type itself where it is none.
    public var item: TypeReference {
        TypeReference(type, isNullable: isNullable, facets: facets)
    }
}

extension TypeReference: CustomStringConvertible {
    public var description: String { isCollection ? "Collection(\(type))" : "\(type)" }
}

/// What a name of a type stands for. Names are resolved: the model has the type.
public enum TypeName: Sendable, Hashable {
    case primitive(PrimitiveType)
    case enumeration(QualifiedName)
    /// A primitive type under a name of its own.
    case definition(QualifiedName)
    case complex(QualifiedName)
    case entity(QualifiedName)
    /// `Edm.Untyped`, `Edm.PrimitiveType`, `Edm.ComplexType`, `Edm.EntityType` and the rest of the abstract ones, by
    /// their names without `Edm.`.
    case abstract(String)

    /// The name of a type of the schema; nil for what is built in.
    public var schemaName: QualifiedName? {
        switch self {
        case .enumeration(let name), .definition(let name), .complex(let name), .entity(let name): name
        case .primitive, .abstract: nil
        }
    }

    public var isStructured: Bool {
        switch self {
        case .complex, .entity: true
        default: false
        }
    }
}

extension TypeName: CustomStringConvertible {
    public var description: String {
        switch self {
        case .primitive(let type): type.description
        case .enumeration(let name), .definition(let name), .complex(let name), .entity(let name): name.description
        case .abstract(let name): "Edm.\(name)"
        }
    }
}

/// What narrows a type (CSDL 4.01, section 7.2); nil where nothing is said.
public struct Facets: Sendable, Hashable {
    public enum Scale: Sendable, Hashable {
        case digits(Int)
        case variable
        case floating
    }

    public var maximumLength: Int?
    public var precision: Int?
    public var scale: Scale?
    public var isUnicode: Bool
    public var srid: String?
    /// The name of version 2's type, without `Edm.`, where the document named one that version 4 lacks.
    public var legacyType: String?

    public init(
        maximumLength: Int? = nil, precision: Int? = nil, scale: Scale? = nil, isUnicode: Bool = true,
        srid: String? = nil, legacyType: String? = nil
    ) {
        self.maximumLength = maximumLength
        self.precision = precision
        self.scale = scale
        self.isUnicode = isUnicode
        self.srid = srid
        self.legacyType = legacyType
    }
}
