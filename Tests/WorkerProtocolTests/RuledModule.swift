import AdapterKit

/// Lists and the tasks in them: a task needs a list, goes with it, and nobody has more than three open ones.
enum RuledModule: AdapterModule {
    static let name: AdapterName = "ruled"

    static let options: [ConfigurationOption] = []

    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Ruled", summary: "Has rules.", version: "1.0.0", access: .public,
            entities: [
                Entity(
                    "lists", summary: "A list.", key: EntityKey("id"),
                    fields: [Field("id", .string), Field("tasks", .integer, defaultValue: 0, source: .rules)]),
                Entity(
                    "tasks", summary: "A task.", key: EntityKey("id", chosenBy: .server),
                    fields: [
                        Field("id", .string), Field("list", .string, isRequired: true),
                        Field("title", .string, isRequired: true), Field("isOpen", .bool, defaultValue: true),
                        Field("owner", .string, source: .creator), Field("closed", .date, source: .rules),
                        Field("modified", .date, source: .modifiedAt),
                        Field("place", .integer, source: .createdPosition),
                    ]),
                Entity(
                    "notes", summary: "A text.", key: EntityKey("id"),
                    fields: [
                        Field("id", .string), Field("text", .string, isRequired: true),
                        Field("length", .integer, isRequired: true, source: .rules),
                    ]),
            ],
            operations: [
                Operation(
                    "add", summary: "Adds a task.", effect: .writes,
                    input: ObjectShape("Task", members: [Member("title", .string)]), output: .any)
            ], mounts: [HTTPMount("lines", summary: "Errors in lines.", path: "/ruled", methods: ["GET"])],
            rules: TaskRules(
                maximumFirst: configuration["first"]?.int64Value.map { Int($0) } ?? PreparedChange.maximumFirst))
    }

    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { RuledAdapter() }
}

private struct RuledAdapter: Adapter {
    func errorResponse(for error: PorticoError, status: Int, to request: MountFailure) -> MountResponse? {
        guard error.code != .accessDenied else { return nil }
        let line =
            "\(error.code.rawValue) \(error.message) \(error.target ?? "") \(error.retryAfter ?? 0) \(status) \(request)\n"
        return MountResponse(
            status + 6, headers: ["Content-Type": "text/plain", "X-Line": "1"], body: .bytes(Array(line.utf8)))
    }

    func handle(_ call: Call) async throws -> OperationResult {
        let receipt = try await call.records.apply([
            RecordChange("tasks", .create(nil, ["list": "home", "title": call.input["title"] ?? .null]))
        ])
        return .value(receipt.records.first??["title"] ?? .null)
    }
}

struct TaskRules: RecordRules {
    let maximumFirst: Int

    static let maximumOpen = 3

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch (change.entity.text, change.action) {
        case ("lists", .delete(let id)):
            let tasks = try writing.snapshot.query(Query(.compare("list", .equal, .string(id.text))), in: "tasks")
            return PreparedChange(change, after: tasks.records.map { RecordChange("tasks", .delete($0.id)) })
        case ("tasks", .create), ("tasks", .update):
            if change.fields["title"] == "another" { return PreparedChange(RecordChange("lists", .delete("home"))) }
            var fields = change.fields
            if let title = fields["title"]?.stringValue { fields["title"] = .string(title.lowercased()) }
            if fields["isOpen"] == false { fields["closed"] = .date(writing.now) }
            return PreparedChange(change.setting(fields))
        case ("notes", .create(let id, var fields)):
            // The length of the text, and of the note that it names.
            let text = fields["text"]?.stringValue ?? ""
            let named = try RecordID(text).flatMap { try writing.snapshot.record($0, in: "notes") }
            if id == "much" { for _ in 0..<8 { _ = try writing.snapshot.query(Query(), in: "notes") } }
            if id == "often" { for _ in 0..<(Int(text) ?? 0) { _ = try writing.snapshot.record("x", in: "notes") } }
            if id == "crowd" {
                let first = (0..<(Int(text) ?? 0)).map {
                    RecordChange("lists", .create(RecordID(unchecked: "l\($0)"), [:]))
                }
                fields["length"] = 0
                return PreparedChange(change.setting(fields), after: first)
            }
            if id == "chores" {
                let first = (0..<(Int(text) ?? 0)).map {
                    RecordChange(
                        "tasks", .create(nil, ["list": "home", "title": .string("chore \($0)"), "isOpen": false]))
                }
                fields["length"] = 0
                return PreparedChange(change.setting(fields), after: first)
            }
            fields["length"] = .int64(Int64(text.count) + (named?["length"].int64Value ?? 0))
            return PreparedChange(change.setting(fields))
        default: return PreparedChange(change)
        }
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        guard entity == "tasks" else { return }
        guard let list = record["list"].stringValue.flatMap({ RecordID($0) }),
            try writing.snapshot.record(list, in: "lists") != nil
        else { throw PorticoError(.requestInvalid, "There is no such list.", target: "list") }
        if record["title"] == "endless" { try countWithoutEnd(from: record, in: writing) }
        guard try writing.snapshot.record(record.id, in: "tasks") == record else {
            throw PorticoError(.serverInternal, "The snapshot has not what was written.")
        }
        try checkOpen(record, in: writing)
    }

    /// Counts on from the task, which is there in the transaction alone.
    private func countWithoutEnd(from task: Record, in writing: RecordRuleContext) throws {
        let start = Relation(
            .records("tasks", as: 1), where: .same(.field(1, "id"), .value(.string(task.id.text))),
            columns: [.value(1)])
        let step = Relation(.found(as: 2), columns: [.arithmetic(.add, .output(2, 0), .value(1))])
        let count = Relation(
            .recursion(Recursion(from: start, step: step), as: 3),
            columns: [.aggregate(.count, nil, isDistinct: false)])
        _ = try writing.snapshot.rows(count)
    }

    private func checkOpen(_ record: Record, in writing: RecordRuleContext) throws {
        let open = Filter.all([.compare("owner", .equal, record["owner"]), .compare("isOpen", .equal, true)])
        guard try writing.snapshot.count(open, in: "tasks") <= Self.maximumOpen else {
            throw PorticoError(.recordConflict, "At most \(Self.maximumOpen) tasks are open.", target: "isOpen")
        }
    }
}
