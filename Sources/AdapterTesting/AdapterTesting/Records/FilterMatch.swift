import AdapterKit

/// Whether a filter holds for a record. Two-valued, as ``Filter`` promises.
struct FilterMatch {
    let tables: MemoryTables
    let entity: Entity

    func holds(_ filter: Filter, for record: Record) throws -> Bool {
        switch filter {
        case .all(let filters): try filters.allSatisfy { try holds($0, for: record) }
        case .any(let filters): try filters.contains { try holds($0, for: record) }
        case .not(let inner): try !holds(inner, for: record)
        case .search(let words): search(words, record)
        case .related(let field, let entity, let inner): try related(field, entity, inner, record)
        case .compare(let field, let comparison, let value): comparison.holds(record[field], value)
        case .isNull(let field): record[field].isNull
        case .oneOf(let field, let values): isOneOf(record[field], values)
        case .listContains(let field, let value): record[field].arrayValue?.contains(value) ?? false
        case .hasPrefix, .hasSuffix, .containsText: holdsText(filter, record)
        }
    }

    private func holdsText(_ filter: Filter, _ record: Record) -> Bool {
        switch filter {
        case .hasPrefix(let field, let text): utf8(field, record)?.starts(with: text.utf8) ?? false
        case .hasSuffix(let field, let text):
            utf8(field, record)?.reversed().starts(with: text.utf8.reversed()) ?? false
        case .containsText(let field, let text): utf8(field, record)?.holds(Array(text.utf8)) ?? false
        default: false
        }
    }

    private func utf8(_ field: FieldName, _ record: Record) -> [UInt8]? {
        record[field].stringValue.map { Array($0.utf8) }
    }

    private func isOneOf(_ value: WireValue, _ values: [WireValue]) -> Bool {
        !value.isNull && values.contains { value.ordering(to: $0) == .same }
    }

    private func search(_ words: [String], _ record: Record) -> Bool {
        let found = entity.searchFields.flatMap { FoldedWords(record[$0].stringValue ?? "").words }
        return words.allSatisfy { word in
            FoldedWords(word).words.allSatisfy { prefix in found.contains { $0.hasPrefix(prefix) } }
        }
    }

    private func related(_ field: FieldName, _ other: EntityName, _ inner: Filter, _ record: Record) throws -> Bool {
        guard let id = RecordID(key: record[field]) else { return false }
        let table = try tables.table(other)
        guard let target = table.rows[id] else { return false }
        return try FilterMatch(tables: tables, entity: table.entity).holds(inner, for: target)
    }
}

extension Comparison {
    fileprivate func holds(_ left: WireValue, _ right: WireValue) -> Bool {
        let ordering = left.isNull || right.isNull ? nil : left.ordering(to: right)
        return switch self {
        case .equal: ordering == .same
        case .notEqual: ordering != .same
        case .less: ordering == .before
        case .lessOrEqual: ordering == .before || ordering == .same
        case .greater: ordering == .after
        case .greaterOrEqual: ordering == .after || ordering == .same
        }
    }
}

extension [UInt8] {
    fileprivate func holds(_ part: [UInt8]) -> Bool {
        part.isEmpty || indices.contains { self[$0...].starts(with: part) }
    }
}
