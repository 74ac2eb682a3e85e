/// The operation `import` of an entity: an operator's own rows, all of them or none.
///
/// The adapter lists ``operation`` among its own and answers it by ``perform(_:on:)``. A row that is refused is the
/// error's target: `rows[17].email`, counted from 0.
public struct RecordImport: Sendable {
    public static let name: OperationName = "import"
    /// Rows of one import: they are one transaction, and stand in memory while it is made.
    public static let maximumRows = 100_000

    /// What becomes of the records that are there.
    public enum Mode: String, Sendable, CaseIterable {
        /// They stay; a row with a key that is taken is refused with `record.exists`.
        case append
        /// Those that are not among the rows leave.
        case replace
    }

    public let operation: Operation
    private let entity: Entity

    public init(_ entity: Entity) {
        self.entity = entity
        operation = Operation(
            Self.name, summary: "Loads records of \(entity.name), all of them or none.", effect: .writes,
            input: ObjectShape(
                "\(entity.name)Import",
                members: [
                    Member("rows", .list(of: .object(entity.importShape)), isRequired: true, summary: "The records."),
                    Member(
                        "mode", .choice(Mode.allCases.map(\.rawValue)), defaultValue: .string(Mode.append.rawValue),
                        summary: "Whether the records that are there stay."),
                ]), output: .object(Self.outcome), audience: .operators)
    }

    /// `records` are all of the adapter's own: a view that hides some would leave those in place unseen.
    public func perform(_ call: Call, on records: any RecordStore) async throws -> OperationResult {
        let rows = (call["rows"].arrayValue ?? []).compactMap(\.dictionaryValue)
        guard rows.count <= Self.maximumRows else {
            throw PorticoError(.requestLimitExceeded, "An import has at most \(Self.maximumRows) rows.", target: "rows")
        }
        let mode = call["mode"].stringValue.flatMap(Mode.init(rawValue:)) ?? .append
        let present = try await existing(in: records)
        let plan = try ImportPlan(rows, of: entity, over: present, mode: mode)
        if !plan.changes.isEmpty { _ = try await records.apply(plan.changes) }
        return .value(plan.outcome)
    }

    private func existing(in records: any RecordStore) async throws -> [RecordID: Record] {
        var existing: [RecordID: Record] = [:]
        var query = Query(limit: Query.maximumLimit)
        while true {
            let page = try await records.query(query, in: entity.name)
            for record in page.records { existing[record.id] = record }
            guard let next = page.next else { return existing }
            query.start = .after(next)
        }
    }

    private static let outcome = ObjectShape(
        "ImportOutcome",
        members: ["created", "changed", "unchanged", "deleted"].map { (name: FieldName) in
            Member(name, .integer, isRequired: true)
        })
}

extension Entity {
    /// A row of a file: what callers give a record, and what the server gives, which is ignored, so that records can be
    /// loaded as they were read. Numbers may come as text, as CSV has them.
    fileprivate var importShape: ObjectShape {
        ObjectShape(
            "\(name)Row",
            members: fields.map { field in
                let isChosen = field.name == key.field && key.chooser != .caller
                let isGiven = field.source == .caller || field.source == .callerOnCreate
                return Member(
                    field.name, field.shape, isRequired: field.isRequired && isGiven && !isChosen,
                    isNullable: field.isNullable, acceptsText: true, summary: field.summary)
            })
    }
}
