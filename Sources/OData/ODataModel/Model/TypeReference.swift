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

/// The type that a name refers to. Names are resolved: the model has the type.
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

/// The facets of a type (CSDL 4.01, section 7.2); nil where they are not given.
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

/// A name within a namespace (CSDL 4.01, section 17): `ComplianceService.Product`.
public struct QualifiedName: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let namespace: String
    public let name: String

    public init(_ namespace: String, _ name: String) {
        self.namespace = namespace
        self.name = name
    }

    /// Splits at the last dot; nil where there is none or a side of it is empty.
    public init?(_ text: some StringProtocol) {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return nil }
        let name = text[text.index(after: dot)...]
        guard !name.isEmpty else { return nil }
        self.init(String(text[..<dot]), String(name))
    }

    public var description: String { "\(namespace).\(name)" }

    public static func < (left: Self, right: Self) -> Bool {
        (left.namespace, left.name) < (right.namespace, right.name)
    }
}

/// The primitive types of OData 4.01 (CSDL 4.01, section 3.3). The raw value is the name without `Edm.`.
///
/// The types that only version 2 has are read as those which took their place: `DateTime` as ``dateTimeOffset``, `Time`
/// as ``timeOfDay``; ``Facets/legacyType`` has the original type.
public enum PrimitiveType: String, Sendable, Hashable, CaseIterable {
    case binary = "Binary"
    case boolean = "Boolean"
    case byte = "Byte"
    case date = "Date"
    case dateTimeOffset = "DateTimeOffset"
    case decimal = "Decimal"
    case double = "Double"
    case duration = "Duration"
    case guid = "Guid"
    case int16 = "Int16"
    case int32 = "Int32"
    case int64 = "Int64"
    case sByte = "SByte"
    case single = "Single"
    case stream = "Stream"
    case string = "String"
    case timeOfDay = "TimeOfDay"
    case geography = "Geography"
    case geographyPoint = "GeographyPoint"
    case geographyLineString = "GeographyLineString"
    case geographyPolygon = "GeographyPolygon"
    case geographyMultiPoint = "GeographyMultiPoint"
    case geographyMultiLineString = "GeographyMultiLineString"
    case geographyMultiPolygon = "GeographyMultiPolygon"
    case geographyCollection = "GeographyCollection"
    case geometry = "Geometry"
    case geometryPoint = "GeometryPoint"
    case geometryLineString = "GeometryLineString"
    case geometryPolygon = "GeometryPolygon"
    case geometryMultiPoint = "GeometryMultiPoint"
    case geometryMultiLineString = "GeometryMultiLineString"
    case geometryMultiPolygon = "GeometryMultiPolygon"
    case geometryCollection = "GeometryCollection"

    public var isInteger: Bool {
        switch self {
        case .byte, .sByte, .int16, .int32, .int64: true
        default: false
        }
    }

    public var isNumeric: Bool {
        isInteger || self == .decimal || self == .double || self == .single
    }

    public var isGeography: Bool {
        switch self {
        case .geography, .geographyPoint, .geographyLineString, .geographyPolygon, .geographyMultiPoint,
            .geographyMultiLineString, .geographyMultiPolygon, .geographyCollection:
            true
        default: false
        }
    }

    public var isGeometry: Bool {
        switch self {
        case .geometry, .geometryPoint, .geometryLineString, .geometryPolygon, .geometryMultiPoint,
            .geometryMultiLineString, .geometryMultiPolygon, .geometryCollection:
            true
        default: false
        }
    }

    public var isSpatial: Bool { isGeography || isGeometry }

    /// The integers that the type takes; nil for what is no integer type.
    public var integerRange: ClosedRange<Int64>? {
        switch self {
        case .byte: 0...255
        case .sByte: -128...127
        case .int16: Int64(Int16.min)...Int64(Int16.max)
        case .int32: Int64(Int32.min)...Int64(Int32.max)
        case .int64: Int64.min...Int64.max
        default: nil
        }
    }

    /// Whether it may be a key property's type (CSDL 4.01, section 6.5).
    public var canBeKey: Bool {
        switch self {
        case .boolean, .byte, .date, .dateTimeOffset, .decimal, .duration, .guid, .int16, .int32, .int64, .sByte,
            .string, .timeOfDay:
            true
        default: false
        }
    }
}

extension PrimitiveType: CustomStringConvertible {
    public var description: String { "Edm.\(rawValue)" }
}
