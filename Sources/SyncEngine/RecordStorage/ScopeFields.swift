import AdapterKit

extension [CollectionDeclaration] {
    /// The fields of a collection whose earlier values the log has to keep: those that its own read rule looks at,
    /// those by which its records tell who may read others (the members of a group), and those that it declares.
    public func scopeFields(of id: CollectionID) -> [FieldName] {
        let own = first { $0.id == id }.map { $0.entity.rows.read.fields } ?? []
        let asGroup = filter { $0.id.adapter == id.adapter }.flatMap { declaration in
            declaration.entity.rows.read.groups.filter { $0.entity == id.entity }.map(\.members)
        }
        let declared = first { $0.id == id }?.entity.historyFields ?? []
        return (own + asGroup + declared).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}
