import AdapterKit

/// Answers the contract's reads from the records; writing goes through the entity's own resource.
struct XMLUsersAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case UserOperations.listV1.name: try await list(call.records, Users.all)
        case UserOperations.list.name: try await list(call.records, Users.listed)
        case UserOperations.user.name: try await user(call)
        case UserOperations.schema.name:
            OperationResult(.document(UserSchema.v2, mediaType: UserSchema.mediaType))
        case RecordImport.name: try await UserOperations.loading.perform(call, on: call.records)
        default: throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
    }

    func frontPageEntries() -> [FrontPageEntry] {
        [
            FrontPageEntry(title: "The list", path: "/v2/list", summary: "Every user, without details."),
            FrontPageEntry(
                title: "The schema", path: "/v2/schema.xsd", summary: "What version 2 answers, as XML Schema."),
        ]
    }

    func sampleRecords() -> [SampleRecords] {
        [SampleRecords(Users.entity.name, SampleUsers.records)]
    }

    private func list(_ records: any RecordStore, _ fields: [FieldName]) async throws -> OperationResult {
        let entries = try await UserList(records).entries { $0.fields.only(fields) }
        return .value(.dictionary([UserOperations.entry.text: .array(entries)]))
    }

    private func user(_ call: Call) async throws -> OperationResult {
        guard let number = call[UserOperations.key].int64Value, let id = RecordID(String(number)),
            let record = try await call.records.record(id, in: Users.entity.name)
        else { throw PorticoError(.recordNotFound, "There is no such user.", target: UserOperations.key.text) }
        return .value(.dictionary(record.fields.only(Users.all)))
    }
}
