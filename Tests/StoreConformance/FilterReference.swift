import AdapterKit
import Foundation
import RecordEvaluation
import RecordStorage

/// Evaluates a ``Filter`` and a ``Query`` as they are written, without what stores make of them: the reference that stores
/// are compared with. Every query reads all of the records.
struct FilterReference {
    /// Finds a record of another entity of the same adapter by its id, with that entity's declaration.
    typealias Lookup = (EntityName, RecordID) -> (entity: Entity, record: Record)?

    private let entity: Entity
    private let lookup: Lookup

    /// The reference for one entity's records.
    init(_ entity: Entity, related lookup: @escaping Lookup) {
        self.entity = entity
        self.lookup = lookup
    }

    /// The page of `records` that the query asks for.
    func page(_ query: Query, of records: some Sequence<Record>) throws -> RecordPage {
        let matching = records.filter { record in query.filter.map { matches($0, record) } ?? true }
        let order = try entity.totalOrder(query.order)
        let sorted = matching.sorted { precedes($0, $1, order) }
        let rest = sorted[start(query.start, sorted, order)...]
        let page = Array(rest.prefix(query.limit))
        let next = rest.count > query.limit ? page.last.map { last in order.map { last[$0.field] } } : nil
        return RecordPage(
            records: page, next: next.map { Cursor(values: $0) }, total: query.countsAll ? matching.count : nil)
    }

    /// Whether the filter holds for the record. The logic has two values, as ``Filter`` promises.
    func matches(_ filter: Filter, _ record: Record) -> Bool {
        switch filter {
        case .compare(let field, let comparison, let value): compare(record[field], comparison, value)
        case .isNull(let field): record[field].isNull
        case .oneOf(let field, let values): values.contains { compare(record[field], .equal, $0) }
        case .hasPrefix(let field, let text): bytes(record[field]).map { $0.starts(with: text.utf8) } ?? false
        case .hasSuffix(let field, let text):
            bytes(record[field]).map { $0.reversed().starts(with: text.utf8.reversed()) } ?? false
        case .containsText(let field, let text): bytes(record[field]).map { contains($0, Array(text.utf8)) } ?? false
        case .listContains(let field, let value):
            record[field].arrayValue?.contains { compare($0, .equal, value) } ?? false
        case .search(let words): words.allSatisfy { contains($0, in: record) }
        case .related(let field, let name, let inner):
            RecordID(key: record[field]).flatMap { lookup(name, $0) }
                .map { FilterReference($0.entity, related: lookup).matches(inner, $0.record) } ?? false
        case .all(let parts): parts.allSatisfy { matches($0, record) }
        case .any(let parts): parts.contains { matches($0, record) }
        case .not(let inner): !matches(inner, record)
        }
    }
}

extension FilterReference {
    private func compare(_ value: WireValue, _ comparison: Comparison, _ other: WireValue) -> Bool {
        if comparison == .notEqual { return !compare(value, .equal, other) }
        guard let order = ValueOrder.compare(value, other) else { return false }
        return switch comparison {
        case .equal, .notEqual: order == 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    private func precedes(_ left: Record, _ right: Record, _ order: [SortKey]) -> Bool {
        for criterion in order {
            let result = ValueOrder.withNull(left[criterion.field], right[criterion.field])
            if result != 0 { return criterion.isDescending ? result > 0 : result < 0 }
        }
        return false
    }

    private func start(_ start: Query.Start, _ sorted: [Record], _ order: [SortKey]) -> Int {
        switch start {
        case .first: return 0
        case .offset(let rows): return min(max(0, rows), sorted.count)
        case .after(let cursor):
            let last = Record(
                id: "x", revision: Revision(0),
                fields: WireDictionary(
                    uncheckedUniqueKeys: zip(order, cursor.values).map { .init(key: $0.field.text, value: $1) }))
            return sorted.firstIndex { precedes(last, $0, order) } ?? sorted.count
        }
    }

    private func bytes(_ value: WireValue) -> [UInt8]? { value.stringValue.map { Array($0.utf8) } }

    private func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard part.count <= text.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }

    /// A word with punctuation within is several tokens, which must then follow each other; one without a letter or
    /// digit asks for nothing.
    private func contains(_ word: String, in record: Record) -> Bool {
        let asked = SearchTokens.of(word)
        guard let last = asked.last else { return true }
        return entity.searchFields.contains { field in
            let tokens = SearchTokens.of(record[field].stringValue ?? "")
            guard tokens.count >= asked.count else { return false }
            return (0...(tokens.count - asked.count)).contains { start in
                tokens[start...].starts(with: asked.dropLast())
                    && tokens[start + asked.count - 1].hasPrefix(last)
            }
        }
    }
}

/// The words of a text as a search sees them: runs of letters and digits, case and accents aside.
private enum SearchTokens {
    static func of(_ text: String) -> [String] {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            .split { !$0.isLetter && !$0.isNumber }
            .map { String($0) }
    }
}
