import AdapterKit
import ODataModel
import ODataRecords

/// A collection that `addnested` or `nest` gives each row under a name: the rows of a relation of its own, found by what
/// tells their owner.
struct NestedRows {
    let name: String
    /// The same wherever the rows that have it have gone.
    let number: SourceName
    let isCollection: Bool
    /// The set whose entities they are, or were made of.
    let set: String
    /// Of the rows that have it.
    var near: [RowExpression]
    let level: LevelPlan
    let far: [RowExpression]
    let sources: [SourceName: RowExpression]

    init(
        _ name: String, isCollection: Bool, near: [RowExpression], _ made: (level: LevelPlan, far: [RowExpression]),
        _ applier: Applier
    ) {
        (self.name, self.isCollection, self.near) = (name, isCollection, near)
        (level, far) = made
        number = applier.reader.numbering.next()
        (set, sources) = (applier.set, applier.sources)
    }

    func moved(from old: SourceName, to new: SourceName) -> Self {
        var result = self
        result.near = near.map { $0.moved(from: old, to: new) }
        return result
    }

    /// Where the rows have become those of a nested relation, which tells what it is found by from that column on.
    func found(in name: SourceName, from next: inout Int) -> Self {
        var result = self
        result.near = near.indices.map { .output(name, next + $0) }
        next += near.count
        return result
    }

    /// As it is read: `list` gets the columns that it is found by.
    func plan(_ list: inout ColumnList) -> ExpansionPlan {
        ExpansionPlan(
            property: name, relation: nil, owner: nil, isCollection: isCollection, content: .entities, level: level,
            near: near.map { list.position(of: $0, .string) }, far: far,
            made: ExpansionPlan.Made(set: set, sources: sources))
    }
}
