import AdapterKit
import ODataModel

/// An expression as it was written: names are not resolved and literals not yet typed by what they are compared with.
///
/// URL Conventions 4.01, section 5.1.1, and the rule `commonExpr`. Parentheses are not kept: precedence is in the tree.
/// Nothing in it belongs to one version of the protocol, so that OData 2.0 parses into the same trees.
public struct Expression: Sendable, Hashable {
    public let form: Form
    public let range: SourceRange

    public init(_ form: Form, _ range: SourceRange) {
        self.form = form
        self.range = range
    }

    public indirect enum Form: Sendable, Hashable {
        case literal(Literal)
        /// `(1,2,3)` to the right of `in`.
        case list([Expression])
        case array([Expression])
        case object([Member])
        case path(MemberPath)
        case call(BuiltInFunction, [Expression])
        case choice([Branch])
        case cast(Expression?, WrittenType)
        case isOf(Expression?, WrittenType)
        case isDefined(MemberPath)
        case not(Expression)
        case negated(Expression)
        case binary(BinaryOperator, Expression, Expression)
    }

    /// A member of a JSON object in the URL.
    public struct Member: Sendable, Hashable {
        public let name: String
        public let value: Expression

        public init(name: String, value: Expression) {
            self.name = name
            self.value = value
        }
    }

    /// One `condition:value` of `case`.
    public struct Branch: Sendable, Hashable {
        public let condition: Expression
        public let value: Expression

        public init(condition: Expression, value: Expression) {
            self.condition = condition
            self.value = value
        }
    }
}

/// A type as it is named in `cast` and `isof`.
public struct WrittenType: Sendable, Hashable {
    public let name: WrittenName
    public let isCollection: Bool
    public let range: SourceRange

    public init(_ name: WrittenName, isCollection: Bool, range: SourceRange) {
        self.name = name
        self.isCollection = isCollection
        self.range = range
    }
}

/// An operator between two expressions, loosest binding first; within one level from left to right.
///
/// URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.2, precedence in 5.1.1.17.
public enum BinaryOperator: String, Sendable, Hashable, CaseIterable {
    case or, and
    case equal = "eq"
    case notEqual = "ne"
    case less = "lt"
    case lessOrEqual = "le"
    case greater = "gt"
    case greaterOrEqual = "ge"
    case has
    case isIn = "in"
    case add
    case subtract = "sub"
    /// `div` divides integers to an integer, `divby` always to a fraction.
    case multiply = "mul"
    case divide = "div"
    case divideExactly = "divby"
    case modulo = "mod"

    /// The precedence; a greater one binds more tightly.
    public var precedence: Int {
        switch self {
        case .or: 1
        case .and: 2
        case .equal, .notEqual: 3
        case .less, .lessOrEqual, .greater, .greaterOrEqual: 4
        case .add, .subtract: 5
        case .multiply, .divide, .divideExactly, .modulo: 6
        // Tighter than `not` and the sign: `not Name in ('a','b')` denies the whole.
        case .has, .isIn: 8
        }
    }

    var isInVersion2: Bool { ![.has, .isIn, .divideExactly].contains(self) }

    public var isComparison: Bool { precedence == 3 || precedence == 4 }
    public var isArithmetic: Bool { precedence == 5 || precedence == 6 }
}

/// A canonical function, by the name that it has in URLs.
///
/// URL Conventions 4.01, sections 5.1.1.5 to 5.1.1.12. `substringof` is OData 2.0's `contains` with its arguments
/// exchanged; version 4 parses neither it nor `replace`.
public enum BuiltInFunction: String, Sendable, Hashable, CaseIterable {
    case concat, contains, endswith, indexof, length, startswith, substring, tolower, toupper, trim
    case matchesPattern
    case hassubset, hassubsequence
    case year, month, day, hour, minute, second, fractionalseconds, totalseconds
    case date, time, totaloffsetminutes, mindatetime, maxdatetime, now
    case round, floor, ceiling
    case geoDistance = "geo.distance"
    case geoLength = "geo.length"
    case geoIntersects = "geo.intersects"
    case substringof, replace

    /// The numbers of arguments that it takes.
    public var argumentCounts: ClosedRange<Int> {
        switch self {
        case .mindatetime, .maxdatetime, .now: 0...0
        case .concat, .contains, .endswith, .indexof, .startswith, .matchesPattern, .hassubset, .hassubsequence: 2...2
        case .geoDistance, .geoIntersects, .substringof: 2...2
        case .substring: 2...3
        case .replace: 3...3
        default: 1...1
        }
    }

    /// The functions of version 2 (MS-ODATA, section 2.2.3.6.1.1), whose names are case-sensitive.
    static let inVersion2 = [String: Self](
        // Cannot trap: names in source code.
        uniqueKeysWithValues: [
            concat, endswith, indexof, length, replace, startswith, substring, substringof, tolower, toupper, trim,
            year,
            month, day, hour, minute, second, round, floor, ceiling,
        ].map { ($0.rawValue, $0) })

    /// The functions of version 4 by their lower-case names: names of functions are case-insensitive.
    static let inVersion4 = [String: Self](
        // Cannot trap: names in source code.
        uniqueKeysWithValues: allCases.filter { $0 != .substringof && $0 != .replace }.map {
            ($0.rawValue.lowercased(), $0)
        })
}

/// A path inside an expression, `$select` or `$expand`: where it starts, then segment after segment.
///
/// The rules `firstMemberExpr` and `rootExpr`.
public struct MemberPath: Sendable, Hashable {
    public let start: Start
    public let segments: [PathSegment]
    public let range: SourceRange

    public init(_ segments: [PathSegment], _ range: SourceRange) {
        self.init(.current, segments, range)
    }

    public init(_ start: Start, _ segments: [PathSegment], _ range: SourceRange) {
        self.start = start
        self.segments = segments
        self.range = range
    }

    public enum Start: Sendable, Hashable {
        /// The first segment is a name in what the option is evaluated on, or a lambda variable: names decide.
        case current
        /// `$it`: the resource that the path of the request addresses.
        case it
        /// `$this`: what the option is evaluated on.
        case this
        /// `$these`: the collection that an expression of `$apply` is evaluated on.
        case these
        /// `$root`: the service.
        case root
        /// `@name`: what is given for the alias elsewhere in the query.
        case alias(String)
    }
}

/// One segment of a resource path or of a path inside an expression.
///
/// What a name means (a set, property, type, operation, key, variable) needs the model, so a name is only a name here,
/// and the parentheses after it, a key or parameters, are a segment of their own.
public struct PathSegment: Sendable, Hashable {
    public let form: Form
    public let range: SourceRange

    public init(_ form: Form, _ range: SourceRange) {
        self.form = form
        self.range = range
    }

    public indirect enum Form: Sendable, Hashable {
        case name(WrittenName)
        /// `(…)` behind the segment before.
        case arguments(Arguments)
        /// A segment that cannot be a name, as `O'Neil` or `17`: a key as a segment or an ordinal. Percent-decoded.
        case text(String)
        case annotation(AnnotationName)
        case any(Lambda?)
        case all(Lambda)
        /// `$count`; inside expressions possibly with `$filter` and `$search` in parentheses.
        case count([QueryOption])
        case filter(Expression)
        case aggregate(AggregateExpression)
        case each, ref, value, query
        /// `*` in `$expand` and `$select`.
        case star
    }

    /// A name, if it is no more than that.
    public var name: WrittenName? {
        if case .name(let name) = form { name } else { nil }
    }
}

/// The parentheses behind a name.
public enum Arguments: Sendable, Hashable {
    /// `(1)`: a key of one part.
    case single(Expression)
    /// `(a=1,b=2)` or `()`: a key of several parts, or an operation's parameters.
    case named([NamedArgument])
    /// `(a,b)` in `$select`: which overload is meant.
    case names([String])
}

/// `name=value` in parentheses.
public struct NamedArgument: Sendable, Hashable {
    public let name: String
    public let nameRange: SourceRange
    public let value: Expression

    public init(name: String, nameRange: SourceRange, value: Expression) {
        self.name = name
        self.nameRange = nameRange
        self.value = value
    }
}

/// `@Namespace.Term#Qualifier`, as its value is addressed.
public struct AnnotationName: Sendable, Hashable {
    public let term: WrittenName
    public let qualifier: String?

    public init(term: WrittenName, qualifier: String?) {
        self.term = term
        self.qualifier = qualifier
    }
}

/// `variable:condition` of `any` and `all`.
public struct Lambda: Sendable, Hashable {
    public let variable: String
    public let condition: Expression

    public init(variable: String, condition: Expression) {
        self.variable = variable
        self.condition = condition
    }
}

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

    /// A suffix of numbers in OData 2.0.
    public enum NumberSuffix: String, Sendable, Hashable {
        case long = "L"
        case decimal = "M"
        case double = "D"
        case single = "F"
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

extension Literal {
    /// The literal of version 4 that is meant where a property has this type: version 2's midnight for a day, its text
    /// for a duration. Nil where the literal can be none of the type's; any other comes as it is.
    public func version2Meaning(for type: PrimitiveType) -> Literal? {
        switch (self, type) {
        case (.dateTimeOffset(let text), .date): Self.day(text).map(Literal.date)
        case (.string(let text), .duration): .duration(text)
        case (.number("0", nil), .boolean): .boolean(false)
        case (.number("1", nil), .boolean): .boolean(true)
        default: self
        }
    }

    /// The day in UTC of an instant that is after the day's midnight; nil for midnight, and for what is no instant.
    public static func dayWithin(_ instant: String) -> String? {
        guard day(instant) == nil, let text = WireDate(rfc3339: instant)?.rfc3339 else { return nil }
        return String(text.prefix(10))
    }

    /// Nil where the instant is not the beginning of a day in UTC: a day would say less than was sent.
    private static func day(_ text: String) -> String? {
        guard let instant = WireDate(rfc3339: text)?.rfc3339, instant.hasSuffix("T00:00:00Z") else { return nil }
        return String(instant.prefix(10))
    }
}
