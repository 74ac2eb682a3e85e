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
