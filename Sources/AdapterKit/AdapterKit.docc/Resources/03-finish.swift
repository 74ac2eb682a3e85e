import AdapterKit

/// Marks an item as done, for those too who may only read it.
struct Finish {
    static let maximumAttempts = 5

    static let operation = Operation(
        "finish", summary: "Marks an item as done.", effect: .writes, isIdempotent: true,
        input: ObjectShape("Finish", members: [Member("id", .string(maximumLength: 255), isRequired: true)]),
        output: .object(
            ObjectShape(
                "Finished",
                members: [Member("id", .string, isRequired: true), Member("isDone", .bool, isRequired: true)])))

    /// The call's records are those that the caller sees. `own` are the adapter's, which no row rule binds.
    static func run(_ call: Call, own: any RecordStore) async throws -> WireValue {
        guard let id = RecordID(key: call["id"]) else {
            throw PorticoError(.requestInvalid, "That is no id of an item.", target: "id")
        }
        for _ in 0..<maximumAttempts {
            guard let item = try await call.records.record(id, in: "items") else {
                throw PorticoError(.recordNotFound, "There is no such item.", target: "id")
            }
            do {
                try await own.update(id, ["isDone": true], in: "items", if: .revision(item.revision))
                return ["id": .string(id.text), "isDone": true]
            } catch let error as PorticoError where error.code == .preconditionFailed {
                continue  // Another request was faster: read again.
            }
        }
        throw PorticoError(.recordConflict, "The item keeps changing; try again.", retryAfter: 1)
    }
}
