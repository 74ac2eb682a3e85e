import AdapterKit
import ODataLanguage
import ODataRecords

/// How the entities of one level are found: the page's own, or those of one navigation property.
struct LevelPlan: Sendable {
    var shape: ResultShape
    /// Its first columns are the shape's.
    var relation: Relation
    var expansions: [ExpansionPlan]
    /// How many there are without regard to `$top` and `$skip`; nil where nobody asked.
    var count: Relation?
    /// The columns that ``Relation/order`` compares, of which a page's end is told.
    var orderColumns: [Int] = []
}

/// How entities come to the rows that they belong to: asked for all rows of a level at once.
struct ExpansionPlan: Sendable {
    let property: String
    /// Of the table whose rows are expanded; nil for what `$apply` has made.
    let relation: RecordRelation?
    let owner: RecordTable?
    let isCollection: Bool
    let content: ResultExpansion.Content
    var level: LevelPlan
    /// Where, in the rows that are expanded, the values are that the level's rows are found by.
    var near: [Int]
    /// What those are compared with, in the level's relation; its last columns.
    let far: [RowExpression]

    /// Of what `$apply` has made.
    var made: Made?

    struct Made {
        /// The set whose entities it was made of.
        let set: String
        /// Where only the rows' own are read (``Relation/only(_:of:)``).
        let sources: [SourceName: RowExpression]
    }

    var result: ResultExpansion {
        ResultExpansion(
            property: property, isCollection: isCollection, content: content, shape: level.shape, set: made?.set)
    }

    /// Where the values of ``far`` are in the level's rows.
    var farColumns: Range<Int> { level.shape.columns.count..<(level.shape.columns.count + far.count) }
}
