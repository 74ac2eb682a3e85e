import AdapterKit
import ODataModel
import ODataRecords

/// What names mean where an expression stands.
struct Ground {
    /// What a first name is looked for on.
    var current: Place
    /// `$it`.
    var it: Place
    /// Lambda variables.
    var variables: [String: Place] = [:]
    /// What `$compute` and `$apply` have named.
    var computed: [String: Meaning] = [:]
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
    case outputs([String: Meaning])
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
    /// Whether the query asks for the time.
    var readsClock = false

    func next() -> SourceName {
        last += 1
        return SourceName(last)
    }
}
