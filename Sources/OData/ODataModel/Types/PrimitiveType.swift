/// The primitive types of OData 4.01 (CSDL 4.01, section 3.3). The raw value is the name without `Edm.`.
///
/// The types that only version 2 has are read as those which took their place: `DateTime` as ``dateTimeOffset``, `Time`
/// as ``timeOfDay``; ``Facets/legacyType`` tells which one it was.
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
