import AdapterKit

/// How far in the log members' devices have been told.
struct PushProgress: Sendable {
    static let entity = Entity(
        "pushProgress", summary: "How far members' devices have been told of messages.",
        key: EntityKey(id, chosenBy: .caller),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(position, .integer, isRequired: true),
        ], exposure: .adapterOnly)

    private static let id: FieldName = "id"
    private static let position: FieldName = "position"
    private static let only: RecordID = "messages"

    private let records: any RecordStore

    init(_ records: any RecordStore) {
        self.records = records
    }

    /// Nil where nobody was told of anything yet, or the store cannot say.
    func read() async -> Revision? {
        (try? await records.record(Self.only, in: Self.entity.name))?[Self.position].int64Value.map(Revision.init)
    }

    func keep(_ position: Revision) async throws {
        let fields: WireDictionary = ["id": .string(Self.only.text), "position": .int64(position.number)]
        _ = try await records.apply([
            RecordChange(Self.entity.name, .replace(Self.only, fields, orCreate: true))
        ])
    }
}
