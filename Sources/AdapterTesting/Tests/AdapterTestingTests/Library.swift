import AdapterKit

/// An adapter whose records are held to rules: books stand on shelves that there are, and count their changes.
enum Library: AdapterModule {
    static let name: AdapterName = "library"

    /// What is wrong with its rules.
    enum Fault: Sendable {
        case none, vary, turn, throwOddly, refuseSamples, absent

        @TaskLocal static var current = Fault.none
    }

    static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Library", summary: "Lends.", version: "1",
            entities: [
                Entity(
                    "books", summary: "What is lent.", key: EntityKey("id", chosenBy: .caller),
                    fields: [
                        Field("id", .string(maximumLength: 20)), Field("shelf", .string, isNullable: true),
                        Field("changes", .integer, defaultValue: 0, source: .rules),
                    ]),
                Entity(
                    "shelves", summary: "Where it stands.", key: EntityKey("id", chosenBy: .caller),
                    fields: [Field("id", .string(maximumLength: 20))], readers: .roles(["reader"])),
            ], rules: Fault.current == .absent ? nil : LibraryRules())
    }

    static func make(_ configuration: AdapterConfiguration) -> any Adapter { LibraryAdapter() }
}

private struct LibraryAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no such operation.")
    }

    func sampleRecords() -> [SampleRecords] {
        [SampleRecords("shelves", [["id": "a"]]), SampleRecords("books", [["id": "Emma", "shelf": "a"]])]
    }
}

private struct LibraryRules: RecordRules {
    private struct Odd: Error {}

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        switch Library.Fault.current {
        case .vary:
            let any = RecordID(unchecked: String(Int64.random(in: 0 ... .max)))
            return PreparedChange(change, after: [RecordChange("books", .delete(any))])
        case .turn: return PreparedChange(RecordChange(change.entity, .delete("other")))
        case .throwOddly: throw Odd()
        default: return try right(change, of: record, in: writing)
        }
    }

    private func right(
        _ change: RecordChange, of record: Record?, in writing: RecordRuleContext
    ) throws -> PreparedChange {
        switch (change.entity.text, change.action) {
        case ("shelves", .delete(let id)):
            let books = Query(.compare("shelf", .equal, .string(id.text)))
            let standing = try writing.snapshot.query(books, in: "books").records
            return PreparedChange(
                change, after: standing.map { RecordChange("books", .update($0.id, ["shelf": .null])) })
        case ("books", .create), ("books", .update), ("books", .replace):
            var fields = change.fields
            fields["changes"] = .int64((record?["changes"].int64Value ?? 0) + 1)
            return PreparedChange(change.setting(fields))
        default: return PreparedChange(change)
        }
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        guard Library.Fault.current != .refuseSamples else { throw PorticoError(.requestInvalid, "No.") }
        guard let shelf = record["shelf"].stringValue else { return }
        guard let id = RecordID(shelf), try writing.snapshot.record(id, in: "shelves") != nil else {
            throw PorticoError(.requestInvalid, "There is no such shelf.", target: "shelf")
        }
    }
}
