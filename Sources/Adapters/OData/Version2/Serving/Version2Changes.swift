import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// What `!deltatoken` leads to: a feed of entries that are new or have changed, and tombstones of those that are gone
/// (SAP's delta queries; RFC 6721 in Atom).
struct Version2Changes: Sendable {
    private let own: Version2Handler

    init(_ own: Version2Handler) {
        self.own = own
    }

    func feed(_ place: EntityCollectionPath) async throws -> Version2Answer {
        let request = own.request.plain
        let deltas = DeltaReading(own.handler)
        let answer = try await deltas.page(
            place, isCounted: request.target.options.contains(where: \.isCount), isWhole: true)
        let link = deltas.link(answer.token)
        var rows: [ResultRow] = []
        var removed: [String] = []
        for change in answer.page.changes {
            switch change {
            case .whole(let row), .within(let row, _): rows.append(row)
            case .gone(let id, _): removed.append(request.root + path(of: id, place.table))
            }
        }
        let most = own.handler.limits.query.expandedRows
        guard rows.reduce(0, { $0 + $1.entities }) <= max(most, rows.count) else {
            throw PorticoError(
                .requestLimitExceeded, "A page of changes has at most \(most) entities, expanded ones included.")
        }
        let level = try own.level(answer.page.shape, request.target.options)
        return Version2Answer(
            content: .feed(
                Version2Feed(
                    level: level, rows: rows, count: answer.count, next: answer.page.isComplete ? nil : link,
                    delta: answer.page.isComplete ? link : nil, removed: removed)))
    }

    /// `Students(1)`, of an entity that is perhaps not there any more.
    private func path(of id: RecordID, _ table: RecordTable) -> String {
        let fields = table.keyFields(of: id, form: StoredForm(model: own.tables.model))
        let form = Version2Form(model: own.tables.model)
        let parts = table.keyNames.map { name in
            guard let column = table.columns[name], let value = fields[column.field.text] else { return "\(name)=null" }
            let text = form.address(value, column.type)
            return table.keyNames.count == 1 ? text : "\(name)=\(text)"
        }
        return "\(table.source)(\(parts.joined(separator: ",")))"
    }
}
