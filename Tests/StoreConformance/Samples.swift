import AdapterKit
import RecordStorage

/// The collections that the cases work with.
enum Samples {
    static let adapter: AdapterName = "samples"
    static let collections =
        [items, groups, tickets, posts, marks].map { CollectionDeclaration(adapter: adapter, entity: $0) }
        + PendingWriteRecords.collections

    static let itemsID = CollectionID(adapter, "items")
    static let ticketsID = CollectionID(adapter, "tickets")

    /// A field of every kind.
    static let items = Entity(
        "items", summary: "Things of every kind.", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("name", .string(maximumLength: 200), isRequired: true),
            Field("note", .string(maximumLength: 2000)),
            Field("rank", .integer),
            Field("ratio", .double),
            Field("price", .decimal(scale: nil)),
            Field("active", .bool, defaultValue: false),
            Field("at", .date),
            Field("bytes", .data(maximumBytes: 1000)),
            Field("tags", .list(of: .string)),
            Field("marks", .list(of: .integer)),
            Field("group", .string(maximumLength: 64)),
            Field("extra", .any),
            Field("owner", .string, source: .creator),
            Field("created", .date, source: .createdAt),
            Field("modified", .date, source: .modifiedAt),
            Field("serial", .string, source: .callerOnCreate),
        ],
        indexes: [Index(["name"]), Index(["rank", "name"]), Index(["price"])], searchFields: ["name", "note"],
        rows: RowRules(
            read: .any([
                .owner("owner"), .sharedWith("tags"), .hasRole("auditor"),
                .memberOf("groups", through: "group", members: "members"),
            ]), write: .owner("owner")))

    static let groups = Entity(
        "groups", summary: "Groups of people.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("members", .list(of: .string)),
            Field("secret", .string),
        ],
        rows: RowRules(read: .sharedWith("members"), write: .sharedWith("members")))

    /// A key that the server counts, and a value that is there once.
    static let tickets = Entity(
        "tickets", summary: "Numbered things.", key: EntityKey("number", chosenBy: .server),
        fields: [
            Field("number", .integer, isRequired: true),
            Field("code", .string(maximumLength: 40), isNullable: true),
            Field("value", .integer(IntegerRange(0...1000)), isRequired: true),
        ],
        indexes: [Index(["code"], isUnique: true)])

    /// What only a group's members see.
    static let posts = Entity(
        "posts", summary: "Posts of a group.", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true), Field("group", .string(maximumLength: 64)),
            Field("text", .string), Field("owner", .string, source: .creator),
        ], indexes: [Index(["group"])],
        rows: RowRules(
            read: .memberOf("groups", through: "group", members: "members"),
            write: .memberOf("groups", through: "group", members: "members")))

    /// What belongs to a post, and to another mark.
    static let marks = Entity(
        "marks", summary: "Marks of posts.", key: EntityKey("number", chosenBy: .server),
        fields: [
            Field("number", .integer, isRequired: true), Field("post", .string(maximumLength: 64)),
            Field("mark", .integer), Field("list", .list(of: .integer), maximumCount: 3),
        ], indexes: [Index(["post"]), Index(["mark"])],
        parents: [ParentReference("post", in: "posts"), ParentReference("mark", in: "marks")])

    static let declaration = AdapterDeclaration(
        name: adapter, title: "Samples", summary: "For tests.", version: "1",
        entities: [items, groups, tickets, posts, marks])

    static func user(_ name: String, roles: Set<RoleName> = []) -> Principal {
        Principal(kind: .user, id: "id-\(name)", name: name, roles: roles)
    }
}

extension Store {
    /// The adapter itself.
    var own: AdapterRecords { AdapterRecords(store: self, declaration: Samples.declaration) }

    func seen(by name: String, roles: Set<RoleName> = []) -> AdapterRecords {
        AdapterRecords(store: self, declaration: Samples.declaration, principal: Samples.user(name, roles: roles))
    }

    /// What ``position`` says later, where it lags.
    func exactPosition() async throws -> Revision { try await withReadSnapshot { $0.position } }

    /// What ``floor`` says later, where it lags.
    func exactFloor() async throws -> Revision { try await withReadSnapshot { $0.floor } }
}
