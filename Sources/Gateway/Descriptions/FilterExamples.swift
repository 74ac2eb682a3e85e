import AdapterKit

/// Filters of an entity with fields of its own, for people.
struct FilterExamples: Sendable {
    let all: [String]

    /// An entity that cannot be filtered has none of its own.
    var first: String { all.first ?? "title eq 'x'" }

    init(_ entity: Entity) {
        let fields = entity.fields.filter(\.isFilterable)
        // A key says little about records.
        let others = fields.filter { $0.name != entity.key.field } + fields.filter { $0.name == entity.key.field }
        let compared = others.compactMap { field in Self.literal(field.shape).map { (field, $0) } }
        let text = others.first { if case .string = $0.shape { true } else { false } }
        var all: [String] = []
        if let text { all.append("\(text.name) eq 'x'") }
        let ordered = compared.first { Self.isOrdered($0.0.shape) }
        if let (field, literal) = ordered { all.append("\(field.name) ge \(literal)") }
        if let text {
            let other = (ordered ?? compared.first { $0.0.name != text.name }).map { " and \($0.0.name) ne null" } ?? ""
            all.append("startsWith(\(text.name), 'A')\(other)")
        }
        if all.isEmpty, let (field, literal) = compared.first { all.append("\(field.name) eq \(literal)") }
        self.all = all
    }

    private static func isOrdered(_ shape: Shape) -> Bool {
        switch shape {
        case .integer, .double, .decimal, .date: true
        default: false
        }
    }

    private static func literal(_ shape: Shape) -> String? {
        switch shape {
        case .bool: "true"
        case .integer(let range): String(min(max(1, range.range.lowerBound), range.range.upperBound))
        case .double, .decimal: "1.5"
        case .date: "'2026-01-01T00:00:00Z'"
        case .string: "'x'"
        case .choice(let choices): choices.first.map { "'\($0.replacing("'", with: "''"))'" }
        case .any, .data, .list, .object: nil
        }
    }
}
