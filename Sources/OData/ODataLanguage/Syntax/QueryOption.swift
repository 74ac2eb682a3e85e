/// One query option as it was written, at the top or nested in `$expand`, `$select` or `$count`.
///
/// URL Conventions 4.01, section 5. Several of the same name are kept; that they are an error is the binder's.
public struct QueryOption: Sendable, Hashable {
    public let form: Form
    /// Where its name stands.
    public let nameRange: SourceRange
    public let range: SourceRange

    public init(_ form: Form, nameRange: SourceRange, range: SourceRange) {
        self.form = form
        self.nameRange = nameRange
        self.range = range
    }

    public indirect enum Form: Sendable, Hashable {
        case filter(Expression)
        case orderBy([OrderItem])
        case select([SelectItem])
        case expand([ExpandItem])
        case compute([ComputeItem])
        case search(SearchExpression)
        case apply([Transformation])
        /// Digits as written: how large a number is too large is the binder's.
        case top(String)
        case skip(String)
        case index(String)
        case count(Bool)
        case levels(Levels)
        case format(String)
        case skipToken(String)
        case deltaToken(String)
        case schemaVersion(String)
        case id(String)
        /// `@name=value`.
        case alias(String, Expression)
        /// Anything else without `$`, decoded: the application's own, or a parameter of a function given by its name.
        case custom(name: String, value: String?, valueRange: SourceRange)
    }
}

public enum Levels: Sendable, Hashable {
    case number(String)
    case max
}

public struct OrderItem: Sendable, Hashable {
    public let expression: Expression
    public let descending: Bool

    public init(_ expression: Expression, descending: Bool) {
        self.expression = expression
        self.descending = descending
    }
}

/// `path` or `path(options)`; the path may be `*`, and its last segment `.name` with `Namespace.*` as its name's text.
public struct SelectItem: Sendable, Hashable {
    public let path: MemberPath
    public let options: [QueryOption]

    public init(_ path: MemberPath, options: [QueryOption]) {
        self.path = path
        self.options = options
    }
}

/// `path`, `path(options)`, `path/$ref(…)`, `path/$count(…)`, `*`, or `$value`, each as its path's last segments.
public struct ExpandItem: Sendable, Hashable {
    public let path: MemberPath
    public let options: [QueryOption]

    public init(_ path: MemberPath, options: [QueryOption]) {
        self.path = path
        self.options = options
    }
}

/// `expression as name`.
public struct ComputeItem: Sendable, Hashable {
    public let expression: Expression
    public let name: String
    public let nameRange: SourceRange

    public init(_ expression: Expression, name: String, nameRange: SourceRange) {
        self.expression = expression
        self.name = name
        self.nameRange = nameRange
    }
}

/// What `$search` looks for. URL Conventions 4.01, section 5.1.7: `NOT` before `AND` before `OR`, a space is `AND`.
public indirect enum SearchExpression: Sendable, Hashable {
    case word(String)
    case phrase(String)
    case not(SearchExpression)
    case and(SearchExpression, SearchExpression)
    case or(SearchExpression, SearchExpression)
    /// A text in single quotes, which is no complete expression: as typed so far.
    case incomplete(String)
}
