/// The primitive types of OData 2.0 ([MS-ODATA], section 2.2.2). The raw value is the name without `Edm.`.
public enum Version2Type: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case binary = "Binary"
    case boolean = "Boolean"
    case byte = "Byte"
    case dateTime = "DateTime"
    case dateTimeOffset = "DateTimeOffset"
    case decimal = "Decimal"
    case double = "Double"
    case guid = "Guid"
    case int16 = "Int16"
    case int32 = "Int32"
    case int64 = "Int64"
    case sByte = "SByte"
    case single = "Single"
    case string = "String"
    case time = "Time"

    public var description: String { "Edm.\(rawValue)" }

    /// The type of a version 4 type's values; nil where it has none that could carry them. A day is an instant at its
    /// midnight, a duration its text.
    public init?(_ type: PrimitiveType, facets: Facets = Facets()) {
        switch type {
        case .date: self = .dateTime
        case .dateTimeOffset: self = facets.legacyType == "DateTime" ? .dateTime : .dateTimeOffset
        case .timeOfDay: self = .time
        case .duration, .string: self = .string
        case .binary: self = .binary
        case .boolean: self = .boolean
        case .byte: self = .byte
        case .decimal: self = .decimal
        case .double: self = .double
        case .guid: self = .guid
        case .int16: self = .int16
        case .int32: self = .int32
        case .int64: self = .int64
        case .sByte: self = .sByte
        case .single: self = .single
        default: return nil
        }
    }
}

/// How version 2 tells of a value that version 4 has a type for.
public enum Version2Shape: Sendable, Hashable {
    case simple(Version2Type)
    case complex(QualifiedName)
    /// Collections, places and values of no particular type: an `Edm.String` that holds version 4's JSON.
    case document

    /// For `Type` attributes.
    public var typeName: String {
        switch self {
        case .simple(let type): type.description
        case .complex(let name): name.description
        case .document: Version2Type.string.description
        }
    }
}

extension EntityDataModel {
    /// Enumerations are told by their members' names.
    public func version2Shape(of type: TypeReference) -> Version2Shape {
        guard !type.isCollection else { return .document }
        switch type.type {
        case .enumeration: return .simple(.string)
        case .complex(let name): return .complex(name)
        case .entity, .abstract: return .document
        case .primitive, .definition:
            let simple = primitive(behind: type.type).flatMap { Version2Type($0, facets: type.facets) }
            return simple.map(Version2Shape.simple) ?? .document
        }
    }
}
