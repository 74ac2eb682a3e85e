import AdapterKit
import RecordStorage

/// The adapter of a run: a collection for each conflict policy and for each way to see a row.
enum SimulatedAdapter {
    static let adapter: AdapterName = "lab"
    static let people = ["ann", "bob", "cal"]
    static let roomIDs = ["r1", "r2"]
    /// The fields that devices write, each time with a mark that tells which edit it was.
    static let markedFields = ["a", "b", "c"]

    static let auditor: RoleName = "auditor"

    private static let marks = markedFields.map {
        Field(FieldName(unchecked: $0), .string(maximumLength: 64), isNullable: true)
    }

    /// One's own, and what is shared with one.
    static let notes = Entity(
        "notes", summary: "Merged field by field.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("owner", .string, source: .creator), Field("sharedWith", .list(of: .string)),
        ] + marks,
        rows: RowRules(
            read: .any([.owner("owner"), .sharedWith("sharedWith")]),
            write: .any([.owner("owner"), .sharedWith("sharedWith")])),
        conflictPolicy: .merge)

    /// Those of the rooms that one is a member of.
    static let tasks = Entity(
        "tasks", summary: "A conflict is rejected.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true), Field("room", .string(maximumLength: 64)),
        ] + marks,
        rows: RowRules(
            read: .memberOf("rooms", through: "room", members: "members"),
            write: .memberOf("rooms", through: "room", members: "members")),
        conflictPolicy: .reject)

    static let boards = Entity(
        "boards", summary: "The last writer wins.", key: EntityKey("id", chosenBy: .caller),
        fields: [Field("id", .string(maximumLength: 64), isRequired: true)] + marks,
        conflictPolicy: .lastWriterWins)

    static let reports = Entity(
        "reports", summary: "Callers with the role see and write them.", key: EntityKey("id", chosenBy: .caller),
        fields: [Field("id", .string(maximumLength: 64), isRequired: true)] + marks,
        rows: RowRules(read: .hasRole(auditor), write: .hasRole(auditor)), conflictPolicy: .merge)

    static let rooms = Entity(
        "rooms", summary: "Who may see which tasks.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true), Field("members", .list(of: .string)),
        ],
        rows: RowRules(read: .sharedWith("members"), write: .nobody))

    static let declaration = AdapterDeclaration(
        name: adapter, title: "Lab", summary: "For the simulator.", version: "1",
        access: AccessRights(read: .login, write: .login),
        entities: [notes, tasks, boards, reports, rooms])

    static let collections = declaration.entities.map { CollectionDeclaration(adapter: adapter, entity: $0) }
    static let names = declaration.entities.map(\.name.text)
    static let editable = ["notes", "tasks", "boards", "reports"]

    static func principal(_ name: String, _ roles: Set<RoleName>) -> Principal {
        Principal(kind: .user, id: "id-\(name)", name: name, roles: roles)
    }

    static func id(_ collection: String) -> CollectionID { CollectionID(adapter, EntityName(unchecked: collection)) }
}
