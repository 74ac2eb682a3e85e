import AdapterKit
import ODataEngine
import ODataModel

/// Pages of a collection that has no links to further ones: so many entities behind the last key, in the order of the keys.
struct KeyPages: Sendable {
    let table: RecordTable
    let exchange: EntityExchange
    let model: EntityDataModel

    /// The options of the page behind the key with these literals, or of the first one. `condition`: what else holds.
    func options(behind last: [String]?, size: Int, where condition: String? = nil) -> [(String, String)] {
        let conditions = [condition, last.map { Self.behind($0, table.keyNames) }].compactMap { $0 }
        var options = [("$orderby", table.keyNames.map { "\($0) asc" }.joined(separator: ","))]
        options.append(("$top", String(size)))
        if !conditions.isEmpty {
            options.append(
                (
                    "$filter",
                    conditions.count == 1 ? conditions[0] : conditions.map { "(\($0))" }.joined(separator: " and ")
                ))
        }
        return options
    }

    /// The literals of a row's key.
    @inline(never) func key(of row: WireDictionary) throws -> [String] {
        try table.keyNames.map { name in
            guard let column = table.columns[name], let value = row[column.field.text],
                let literal = exchange.literal(value, column.type, model)
            else { throw MirrorRefusal(.unexpected, "a row has no key") }
            return literal
        }
    }

    /// `A gt 1 or (A eq 1 and B gt 2)`
    private static func behind(_ last: [String], _ keys: [String]) -> String {
        let parts = keys.indices.filter { $0 < last.count }.map { end in
            let equal = (0..<end).map { "\(keys[$0]) eq \(last[$0])" }
            let terms = equal + ["\(keys[end]) gt \(last[end])"]
            return terms.count == 1 ? terms[0] : "(\(terms.joined(separator: " and ")))"
        }
        return parts.joined(separator: " or ")
    }
}
