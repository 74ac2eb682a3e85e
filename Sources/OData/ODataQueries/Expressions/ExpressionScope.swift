import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// What names mean where an expression stands.
struct ExpressionScope {
    /// What a first name is looked for on.
    var current: Place
    /// `$it`.
    var it: Place
    /// Lambda variables.
    var variables: [String: Place] = [:]
    /// What `$compute` and `$apply` have named.
    var computed: [String: TypedExpression] = [:]
    /// `$these`.
    var these: AppliedRows?
    /// `Aggregation.rollupnode()`, by its position.
    var rollups: [RollupNode] = []

    init(_ place: Place, it: Place? = nil) {
        current = place
        self.it = it ?? place
    }
}

/// Something that a path can go on from.
enum Place {
    case entity(EntityPlace)
    /// A value within a record or a list: where it is, and its type.
    case value(RowExpression, [RowStep], TypeReference)
    /// The columns that `$apply` has made, by path.
    case outputs([String: TypedExpression])
}

/// An entity: a row of a source.
struct EntityPlace {
    let source: SourceName
    let table: RecordTable
    /// The set's type or one that it was cast to.
    var type: QualifiedName
}

/// Gives every source of one query a name of its own, and counts what one query may have so many of.
final class SourceNumbering {
    private var last = 0
    /// Expanded navigation properties so far, at all levels.
    var expansions = 0
    /// How often `$these` was read so far.
    var theseReads = 0
    /// How often an alias was read so far: aliases of aliases multiply.
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
        parts += name.flatMap { partsOfNames[$0] } ?? 1
        guard parts <= Self.maximumParts else {
            throw QueryProblem("The expressions have too many parts.", at: range, kind: .limitExceeded)
        }
    }

    /// What is read by `read` is what the name stands for.
    func naming(_ name: String, _ read: () throws(QueryProblem) -> TypedExpression) throws(QueryProblem)
        -> TypedExpression
    {
        let before = parts
        let meaning = try read()
        partsOfNames[name] = max(parts - before, partsOfNames[name] ?? 1)
        return meaning
    }

    func next() -> SourceName {
        last += 1
        return SourceName(last)
    }
}
