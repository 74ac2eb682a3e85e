/// A primitive value as it was written, checked for its form and in one canonical spelling, of no particular type yet:
/// `1` may become a byte or a decimal, `'Red'` a string, an enumeration's member or a duration, once it is known what it
/// is compared with.
///
/// The rule `primitiveLiteral`; the literals of OData 2.0 (`datetime'…'`, `5.5M`) become the same cases.
public enum Literal: Sendable, Hashable {
    case null
    case boolean(Bool)
    /// Digits with an optional sign, fraction and exponent; no leading `+`.
    case number(String, suffix: NumberSuffix?)
    case notANumber
    case infinity(negative: Bool)
    case string(String)
    /// 32 hexadecimal digits in five groups, lower case.
    case guid(String)
    /// `YYYY-MM-DD`, the year possibly negative or longer.
    case date(String)
    /// `hh:mm`, possibly seconds and up to twelve digits of their fraction.
    case timeOfDay(String)
    /// Date, `T`, time of day, `Z` or an offset, as written but in upper case. Without an offset only in OData 2.0.
    case dateTimeOffset(String)
    /// `P1DT2H`, as written but in upper case.
    case duration(String)
    case enumeration(WrittenName, members: [String])
    case binary([UInt8])
    case geography(SpatialLiteral)
    case geometry(SpatialLiteral)

    /// What OData 2.0 writes behind numbers.
    public enum NumberSuffix: String, Sendable, Hashable {
        case long = "L", decimal = "M", double = "D", single = "F"
    }
}

/// A shape on the globe or in the plane, with the identifier of its coordinate system.
public struct SpatialLiteral: Sendable, Hashable {
    public let srid: Int
    public let shape: Shape

    public init(srid: Int, shape: Shape) {
        self.srid = srid
        self.shape = shape
    }

    /// Longitude and latitude (or x and y), then possibly altitude and measure.
    public typealias Position = [Double]

    public indirect enum Shape: Sendable, Hashable {
        case point(Position)
        case lineString([Position])
        case polygon([[Position]])
        case multiPoint([Position])
        case multiLineString([[Position]])
        case multiPolygon([[[Position]]])
        case collection([Shape])
    }
}
