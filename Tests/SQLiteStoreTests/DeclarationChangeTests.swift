import AdapterKit
import RecordStorage
import SQLiteStore
import Synchronization
import Testing

/// Other declarations while records are read and written.
@Suite struct DeclarationChangeTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStore

    private static let before = Things.declaration(
        [Field("name", .string), Field("phone", .string), Field("tags", .list(of: .string))],
        indexes: [Index(["phone"])], search: ["phone"])
    private static let after = Things.declaration(
        [Field("name", .string), Field("mail", .string, isRequired: true, defaultValue: "none")],
        indexes: [Index(["mail"])], search: ["name"])

    init() throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
    }

    private func records(_ declaration: AdapterDeclaration) -> AdapterRecords {
        AdapterRecords(store: store, declaration: declaration)
    }

    private func extend(to declaration: AdapterDeclaration) async throws -> AdapterRecords {
        try await store.extend(to: Self.collections(declaration))
        return records(declaration)
    }

    private static func collections(_ declaration: AdapterDeclaration) -> [CollectionDeclaration] {
        declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) }
    }

    private func change(
        to declaration: AdapterDeclaration, retiring retired: [CollectionID] = []
    ) async throws
        -> [String]
    {
        try await store.schemaChange(to: Self.collections(declaration), retiring: retired).items.map(\.description)
    }

    @Test func `both declarations read and write until one of them is installed`() async throws {
        let old = try await Things.install(Self.before, in: store)
        try await old.create(["id": "a", "name": "Ann", "phone": "one", "tags": ["t"]], in: "things")
        let new = try await extend(to: Self.after)
        #expect(try await new.record("a", in: "things")?["mail"] == "none")
        try await old.create(["id": "b", "phone": "two", "tags": ["t", "u"]], in: "things")
        try await old.update("a", ["phone": "three"], in: "things")
        try await new.update("b", ["name": "Bob", "mail": "b@b"], in: "things")
        #expect(try await old.record("b", in: "things")?["phone"] == "two")
        #expect(try await old.record("a", in: "things")?["phone"] == "three")
        #expect(try await new.record("b", in: "things")?["mail"] == "b@b")
        #expect(try await old.count(.listContains("tags", "t"), in: "things") == 2)
        #expect(try await new.query(Query(.search(words: ["bob"])), in: "things").records.map(\.id) == ["b"])
        let installed = try await Things.install(Self.after, in: store)
        #expect(try await installed.record("b", in: "things")?.fields["phone"] == nil)
        await #expect(throws: PorticoError.self) { try await old.update("b", ["phone": "four"], in: "things") }
        let again = try await Things.install(Self.before, in: store)
        #expect(try await again.record("b", in: "things")?["phone"] == "two")
        #expect(try await again.query(Query(.search(words: ["three"])), in: "things").records.map(\.id) == ["a"])
    }

    @Test func `a change that is taken back leaves what was written by either`() async throws {
        let old = try await Things.install(Self.before, in: store)
        let new = try await extend(to: Self.after)
        try await new.create(["id": "a", "name": "Ann", "mail": "a@a"], in: "things")
        let back = try await Things.install(Self.before, in: store)
        #expect(try await back.record("a", in: "things")?.fields["mail"] == nil)
        await #expect(throws: PorticoError.self) { try await new.update("a", ["mail": "x"], in: "things") }
        try await old.update("a", ["phone": "one"], in: "things")
        #expect(try await extend(to: Self.after).record("a", in: "things")?["mail"] == "a@a")
    }

    @Test func `a change that is refused changes nothing, and callers go on`() async throws {
        let old = try await Things.install(Self.before, in: store)
        try await old.create(["id": "a", "phone": "one"], in: "things")
        let other = Things.declaration([Field("phone", .integer), Field("more", .string)])
        let error = await #expect(throws: PorticoError.self) { try await extend(to: other) }
        #expect(error?.message.contains("tests/things, field `phone`") == true)
        try await old.update("a", ["phone": "two"], in: "things")
        #expect(try await old.record("a", in: "things")?.fields["more"] == nil)
        #expect(try await old.query(Query(.search(words: ["two"])), in: "things").records.count == 1)
    }

    private final class Flag: Sendable {
        let isSet = Atomic<Bool>(false)
    }

    @Test func `callers go on while declarations come and go`() async throws {
        let old = try await Things.install(Self.before, in: store)
        let others = records(Self.after)
        let (store, before, after) = (store, Self.collections(Self.before), Self.collections(Self.after))
        let flag = Flag()
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in 0..<4 {
                group.addTask {
                    var number = 0
                    while !flag.isSet.load(ordering: .relaxed) {
                        number += 1
                        let id = RecordID(unchecked: "\(caller)-\(number)")
                        // What both declare can be written at any time.
                        let (one, other) = number % 2 == 0 ? (old, others) : (others, old)
                        try await one.create(["id": .string(id.text), "name": "Ann"], in: "things")
                        try await other.update(id, ["name": "Bob"], in: "things")
                        _ = try await one.query(Query(.compare("name", .equal, "Bob"), limit: 10), in: "things")
                    }
                    return number
                }
            }
            group.addTask {
                defer { flag.isSet.store(true, ordering: .relaxed) }
                for change in RepeatedPart(rounds: 40, fewest: 6) {
                    try await store.extend(to: change % 2 == 0 ? before : after)
                    try await store.install(change % 2 == 0 ? before : after)
                }
                return 0
            }
            return try await group.reduce(0, +)
        }
        #expect(try await old.count(nil, in: "things") == counts)
        let all = try await store.inspect(checksIntegrity: true)
        #expect(all.contents.rows["tests/things"] == Int64(counts))
        try await store.install(after)
        #expect(try await others.query(Query(.search(words: ["bob"]), countsAll: true), in: "things").total == counts)
        print("\(counts) records while declarations changed")
    }

    @Test func `a snapshot that was begun by another declaration does not take effect`() async throws {
        let old = try await Things.install(Self.before, in: store)
        try await old.create(["id": "a", "phone": "one"], in: "things")
        let snapshot = try await store.beginReplacement(of: Things.id)
        _ = try await extend(to: Self.after)
        let error = await #expect(throws: PorticoError.self) {
            try await snapshot.apply(ReplacementOptions(state: [:]))
        }
        #expect(error?.code == .recordConflict)
        #expect(try await old.count(nil, in: "things") == 1)
        _ = try await store.beginReplacement(of: Things.id).apply(ReplacementOptions(state: [:]))
        #expect(try await old.count(nil, in: "things") == 0)
    }

    @Test func `what a change does is known before it is made`() async throws {
        #expect(try await change(to: Self.before) == ["tests/things: is added"])
        let old = try await Things.install(Self.before, in: store)
        try await old.create(["id": "a", "name": "Ann", "phone": "one"], in: "things")
        try await old.create(["id": "b", "name": "Bob"], in: "things")
        #expect(try await change(to: Self.before).isEmpty)
        #expect(
            try await change(to: Self.after) == [
                "tests/things, field `mail`: is added; 2 records get its default",
                "tests/things, field `phone`: is hidden; 1 record keeps its value",
                "tests/things, field `tags`: is hidden; 0 records keep their values",
            ])
        let refused = Things.declaration([
            Field("phone", .integer), Field("tags", .integer), Field("name", .string, isRequired: true),
            Field("new", .string, isRequired: true),
        ])
        let found = try await store.schemaChange(to: Self.collections(refused))
        #expect(
            found.refusals.map(\.description) == [
                "tests/things, field `phone`: refused: 1 record holds values of the kind text, the declaration says integer",
                "tests/things, field `new`: refused: it is required, and 2 records have no value",
            ])
        #expect(
            try await change(to: Things.declaration([], key: "id"), retiring: [Things.id]).last
                == "tests/things: is not declared any more; its tables stay, with 2 records")
    }

    @Test func `the effects of a change are computed from values alone`() {
        let installed = InstalledSchema(
            collections: [
                Things.id: .init(
                    key: "id",
                    fields: [
                        "id": .init(kind: "text", isHidden: false, records: 5),
                        "gone": .init(kind: "text", isHidden: true, records: 3),
                    ], records: 5)
            ], namesakes: [CollectionID("tests", "Other"): "other"])
        let change = SchemaChange(
            from: installed,
            to: [
                CollectionDeclaration(
                    adapter: "tests",
                    entity: Entity(
                        "Other", summary: "", key: EntityKey("id"), fields: [Field("id", .string)]))
            ], retiring: [Things.id])
        #expect(change.refusals.map(\.effect) == [.nameTaken(by: "other")])
        #expect(change.losses.map(\.effect) == [.collectionKept(records: 5)])
    }
}
