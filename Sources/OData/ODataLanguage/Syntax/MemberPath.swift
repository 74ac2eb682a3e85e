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

/// What stands in parentheses behind a name.
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
