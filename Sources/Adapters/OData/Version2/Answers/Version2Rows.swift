import AdapterKit
import ODataModel
import ODataQueries

/// What the rows of one level have in common when they are written in one format, found out once.
protocol Version2Rows: Sendable {
    func feed(in scope: Version2Scope, to sink: DocumentSink) -> any Version2FeedWriter
}

extension Version2Level.Kind {
    /// Its properties by the column that they are in.
    func byColumn<Of>(_ make: (Version2Level.Property) -> Of) -> [Of?] {
        let count = (properties.map(\.position).max() ?? -1) + 1
        return properties.reduce(into: Array(repeating: nil, count: count)) { $0[$1.position] = make($1) }
    }
}

extension RowLevel {
    /// A level's rows, with those that are expanded, as `template` makes them of what entries of one type have.
    static func version2(_ level: Version2Level, _ template: (Version2Level.Kind) -> RowTemplate<Form>) -> RowLevel {
        RowLevel(
            template(level.standard), byType: level.kinds.mapValues(template), at: level.shape.typeColumn)
    }
}
