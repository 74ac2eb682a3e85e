import AdapterKit
import ODataLanguage
import ODataModel

/// The names that are visible to an expression.
struct ExpressionScope {
    /// The origin on which a first name is looked for.
    var current: PathOrigin
    /// `$it`.
    var it: PathOrigin
    /// Lambda variables.
    var variables: [String: PathOrigin] = [:]
    /// The values that `$compute` and `$apply` have named.
    var computed: [String: TypedExpression] = [:]
    /// `$these`.
    var these: AppliedRows?
    /// `Aggregation.rollupnode()`, by its position.
    var rollups: [RollupNode] = []

    init(_ entity: PathOrigin, it: PathOrigin? = nil) {
        current = entity
        self.it = it ?? entity
    }
}

/// A value that a path can continue from.
enum PathOrigin {
    case entity(EntitySource)
    /// A value within a record or a list: where it is, and its type.
    case value(RowExpression, [RowStep], TypeReference)
    /// The columns that `$apply` has made, by path.
    case outputs([String: TypedExpression])
}

/// The rows of a set within a query: the source's number, the table, and the type that the rows are cast to.
struct EntitySource {
    let source: SourceName
    let table: RecordTable
    /// The set's type or one that it was cast to.
    var type: QualifiedName
}

/// Numbers the sources of one query, and counts what has a limit.
final class SourceNumbering {
    private var last = 0
    /// Expanded navigation properties so far, at all levels.
    var expansions = 0
    /// The number of times that `$these` was read so far.
    var theseReads = 0
    /// The number of times that an alias was read so far: aliases of aliases multiply.
    var aliasReads = 0
    /// Parts of all expressions so far. What a name stands for counts wherever the name is used, since it is put there:
    /// columns that are made of columns multiply.
    private(set) var parts = 0
    private var partsOfNames: [String: Int] = [:]
    /// Whether the query asks for the time.
    var readsClock = false

    static let maximumAliasReads = 200
    static let maximumParts = 100_000

    /// Counts one part, or those of what a name stands for. Throws where there are too many.
    func count(_ name: String? = nil, at range: SourceRange) throws(QueryProblem) {
        try count(name.flatMap { partsOfNames[$0] } ?? 1, at: range)
    }

    /// Counts so many parts. Throws where there are too many.
    func count(_ more: Int, at range: SourceRange) throws(QueryProblem) {
        parts += more
        guard parts <= Self.maximumParts else {
            throw QueryProblem("The expressions have too many parts.", at: range, kind: .limitExceeded)
        }
    }

    /// Reads the expression that the name stands for.
    func naming(_ name: String, _ read: () throws(QueryProblem) -> TypedExpression) throws(QueryProblem)
        -> TypedExpression
    {
        let (typed, parts) = try counting(read)
        partsOfNames[name] = max(parts, partsOfNames[name] ?? 1)
        return typed
    }

    /// With the parts of what `read` reads, for ``count(_:at:)`` where it is put into an expression once more.
    func counting(_ read: () throws(QueryProblem) -> TypedExpression) throws(QueryProblem) -> (TypedExpression, Int) {
        let before = parts
        let typed = try read()
        return (typed, parts - before)
    }

    func next() -> SourceName {
        last += 1
        return SourceName(last)
    }
}

/// A compiled expression with its type in the model.
struct TypedExpression {
    var expression: RowExpression
    /// Nil for null, which is of every type.
    var type: TypeReference?
    /// The literal that it was written as; it takes the type of what it meets.
    var literal: Literal?

    init(_ expression: RowExpression, _ type: TypeReference?, literal: Literal? = nil) {
        self.expression = expression
        self.type = type
        self.literal = literal
    }

    init(_ expression: RowExpression, _ primitive: PrimitiveType) {
        self.init(expression, TypeReference(.primitive(primitive)))
    }

    static let null = TypedExpression(.value(.null), nil, literal: .null)

    var isNull: Bool { literal == .null }
}

/// Types that compare with each other.
enum TypeFamily: Equatable {
    case boolean, number, string, guid, date, timeOfDay, dateTimeOffset, duration, binary
    case enumeration(QualifiedName)
    case spatial
    case structured
    case collection
    /// A value whose type the model leaves open.
    case untyped
}

extension EntityDataModel {
    func family(of type: TypeReference) -> TypeFamily {
        if type.isCollection { return .collection }
        switch type.type {
        case .enumeration(let name): return .enumeration(name)
        case .complex, .entity: return .structured
        case .abstract: return .untyped
        case .primitive, .definition: return primitive(behind: type.type)?.family ?? .untyped
        }
    }

    /// The kind in which values of the type are kept.
    func kind(of type: TypeReference) -> RowValueType {
        switch family(of: type) {
        case .boolean: .bool
        case .number: primitive(behind: type.type)?.numberKind ?? .decimal
        case .string, .guid, .date, .timeOfDay: .text
        case .dateTimeOffset: .date
        case .duration: .decimal
        case .binary: .data
        case .enumeration: .integer
        case .spatial, .structured, .collection, .untyped: .tree
        }
    }
}

extension PrimitiveType {
    var family: TypeFamily {
        switch self {
        case .boolean: .boolean
        case .byte, .sByte, .int16, .int32, .int64, .decimal, .double, .single: .number
        case .string: .string
        case .guid: .guid
        case .date: .date
        case .timeOfDay: .timeOfDay
        case .dateTimeOffset: .dateTimeOffset
        case .duration: .duration
        case .binary, .stream: .binary
        default: .spatial
        }
    }

    var numberKind: RowValueType {
        switch self {
        case .double, .single: .double
        case .decimal: .decimal
        default: .integer
        }
    }
}
