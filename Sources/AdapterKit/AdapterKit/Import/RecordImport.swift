/// The operation `import` of an entity: an operator's own rows, all of them or none.
///
/// The adapter lists ``operation`` among its own and answers it by ``perform(_:on:)``. A row that is refused is the
/// error's target: `rows[17].email`, counted from 0. Another row that the message is about stands at its beginning: `rows[3]`.
public struct RecordImport: Sendable {
    /// The name of the operation.
    public static let name: OperationName = "import"
    /// Rows of one import: they are one transaction, and stand in memory while it is made.
    public static let maximumRows = 100_000

    /// The fate of the records that are there.
    public enum Mode: String, Sendable, CaseIterable {
        /// They stay; a row with a key that is taken is refused with `record.exists`.
        case append
        /// Records that are not among the rows leave.
        case replace
    }

    /// The declaration of the operation, for the adapter's list.
    public let operation: Operation
    private let entity: Entity

    /// Creates a record import with these values.
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
                    ReplacementLoss.member,
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
        if mode == .replace, call[ReplacementLoss.member.name].boolValue != true {
            try ReplacementLoss(present: present.count, deleted: plan.deletions, hasRows: !rows.isEmpty).check()
        }
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

/// The records that an import in place of others would delete: one that deletes most of them is more often a file that was
/// written or chosen wrongly than one that is meant.
public struct ReplacementLoss: Sendable {
    /// The number of records from which on a replacement is checked. Fewer are soon loaded again.
    public static let least = 20
    /// The member of an import's input that lets it delete what it will.
    public static let member = Member(
        "acceptLoss", .bool, defaultValue: false, acceptsText: true,
        summary: "Lets a replacement delete more than half of \(least) or more records, or all by a file without rows.")

    private let present: Int
    private let deleted: Int
    private let hasRows: Bool

    /// Creates the loss of `deleted` records, which are not among the file's, of `present` ones.
    public init(present: Int, deleted: Int, hasRows: Bool) {
        (self.present, self.deleted, self.hasRows) = (present, deleted, hasRows)
    }

    /// Throws `record.conflict` with the numbers where more is lost than goes without saying.
    public func check() throws(PorticoError) {
        guard deleted > 0 else { return }
        guard hasRows else { throw refusal("The file has no rows") }
        guard present >= Self.least, deleted > present / 2 else { return }
        throw refusal("The file lacks most of the records that are there")
    }

    private func refusal(_ reason: String) -> PorticoError {
        PorticoError(
            .recordConflict,
            "\(reason): \(deleted) of \(present) would be deleted. Where that is meant, say `acceptLoss` (`--accept-loss`).",
            target: Self.member.name.text)
    }
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

/// The changes of an import: decided whole before anything is written.
///
/// Rows that are there already as they are make no change, so that importing a file again moves nothing to devices.
struct ImportPlan {
    private(set) var changes: [RecordChange] = []
    private var created: Int64 = 0
    private var changed: Int64 = 0
    private var unchanged: Int64 = 0
    private var deleted: Int64 = 0

    /// Records that leave.
    var deletions: Int { Int(deleted) }

    private let entity: Entity

    /// Throws for the first row that cannot be taken, with `rows[n].key` as the target.
    init(
        _ rows: [WireDictionary], of entity: Entity, over existing: [RecordID: Record], mode: RecordImport.Mode
    ) throws(PorticoError) {
        self.entity = entity
        let ids = try Self.ids(of: rows, entity)
        if mode == .replace { remove(existing.keys.filter { !ids.named.contains($0) }) }
        for (position, row) in rows.enumerated() {
            guard let id = ids.all[position] else {
                create(nil, row)
                continue
            }
            guard let record = existing[id] else {
                create(id, row)
                continue
            }
            guard mode == .replace else {
                throw Self.refusal(.recordExists, "There is a record \(id) already.", position, entity)
            }
            replace(record, row)
        }
    }

    var outcome: WireValue {
        [
            "created": .int64(created), "changed": .int64(changed), "unchanged": .int64(unchanged),
            "deleted": .int64(deleted),
        ]
    }

    private mutating func remove(_ ids: [RecordID]) {
        changes += ids.sorted().map { RecordChange(entity.name, .delete($0)) }
        deleted += Int64(ids.count)
    }

    private mutating func create(_ id: RecordID?, _ row: WireDictionary) {
        changes.append(RecordChange(entity.name, .create(id, row)))
        created += 1
    }

    private mutating func replace(_ record: Record, _ row: WireDictionary) {
        guard entity.differs(row, from: record) else {
            unchanged += 1
            return
        }
        changes.append(
            RecordChange(entity.name, .replace(record.id, row, orCreate: false), if: .revision(record.revision)))
        changed += 1
    }
}

extension ImportPlan {
    /// Each row's id, nil where the server chooses one; and all that are named, each once.
    private static func ids(
        of rows: [WireDictionary], _ entity: Entity
    ) throws(PorticoError) -> (all: [RecordID?], named: Set<RecordID>) {
        var all: [RecordID?] = []
        var named: [RecordID: Int] = [:]
        for (position, row) in rows.enumerated() {
            guard let key = row[entity.key.field.text] else {
                all.append(nil)
                continue
            }
            guard let id = RecordID(key: key) else {
                throw refusal(.requestInvalid, "The value cannot be a key.", position, entity)
            }
            if let earlier = named.updateValue(position, forKey: id) {
                throw refusal(.requestInvalid, "rows[\(earlier)] has the key \(id) too.", position, entity)
            }
            all.append(id)
        }
        return (all, Set(named.keys))
    }

    private static func refusal(_ code: ErrorCode, _ message: String, _ row: Int, _ entity: Entity) -> PorticoError {
        PorticoError(code, message, target: "rows[\(row)].\(entity.key.field)")
    }
}

extension Entity {
    /// Whether replacing the record by the row would change what callers give.
    fileprivate func differs(_ row: WireDictionary, from record: Record) -> Bool {
        fields.contains { field in
            guard field.source == .caller || field.source == .callerOnCreate, field.name != key.field else {
                return false
            }
            return (row[field.name.text] ?? field.defaultValue ?? .null) != record[field.name]
        }
    }
}
