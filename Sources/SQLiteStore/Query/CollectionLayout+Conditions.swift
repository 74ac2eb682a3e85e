import AdapterKit

// Conditions that go through a table beside the collection's own.
extension CollectionLayout {
    func condition(list field: FieldName, contains value: WireValue) throws(PorticoError) -> SQLFragment {
        let column = try column(field)
        guard case .list(let element) = column.kind else {
            throw PorticoError(.requestInvalid, "`\(field)` is no list of single values.", target: field.text)
        }
        if value.isNull { return SQLFragment("0") }
        let table = names.list(field).quotedIdentifier
        return SQLFragment(
            "\(rowColumn) IN (SELECT row FROM \(table) WHERE value = ?)", [try column.comparable(value, element)])
    }

    /// Throws `record.searchUnavailable` where the entity declares no search fields.
    func condition(search words: [String]) throws(PorticoError) -> SQLFragment {
        guard hasSearch else {
            throw PorticoError(.searchUnavailable, "\(entity.name) has no full-text search.", target: "search")
        }
        guard let expression = SearchExpression.text(words) else { return SQLFragment("1") }
        let table = names.search.quotedIdentifier
        return SQLFragment("\(rowColumn) IN (SELECT rowid FROM \(table) WHERE \(table) MATCH ?)", [.text(expression)])
    }
}
