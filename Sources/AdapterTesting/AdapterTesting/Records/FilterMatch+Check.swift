import AdapterKit

extension FilterMatch {
    /// Throws for a filter that no record of the entity could be asked, however many there are.
    func check(_ filter: Filter) throws {
        switch filter {
        case .all(let filters), .any(let filters): for inner in filters { try check(inner) }
        case .not(let inner): try check(inner)
        case .search:
            guard !entity.searchFields.isEmpty else {
                throw PorticoError(.searchUnavailable, "\(entity.name) has no full-text search.")
            }
        case .related(let field, let other, let inner):
            try known(field)
            try FilterMatch(tables: tables, entity: tables.table(other).entity).check(inner)
        case .compare(let field, _, _), .isNull(let field), .oneOf(let field, _), .listContains(let field, _),
            .hasPrefix(let field, _), .hasSuffix(let field, _), .containsText(let field, _):
            try known(field)
        }
    }

    private func known(_ field: FieldName) throws {
        guard entity.field(field) == nil else { return }
        throw PorticoError(.requestInvalid, "There is no field \(field).", target: field.text)
    }
}
