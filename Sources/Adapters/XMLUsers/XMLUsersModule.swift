import AdapterKit
import Synchronization

/// Users as the XML contract serves them (docs/adapters/users.md), and as an entity for everything newer.
public enum XMLUsersModule: AdapterModule {
    public static let name: AdapterName = "users"

    public static let options =
        MirrorSource.options + [
            ConfigurationOption("path", .string, summary: "Where the upstream's `v1/list` is, up to its `v1`."),
            ConfigurationOption(
                emptyList, .choice(["document", notFound]), defaultValue: "document",
                summary: "How the upstream says that there are no users: with an empty list, or with 404 (`notFound`)."),
        ]

    private static let emptyList = "emptyList"
    private static let notFound = "notFound"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let mirror = try MirrorSource(
            Users.entity.name, configuration, isWritable: true, supportsRowsOfCallers: true, keys: ["path"])
        let loading = UserOperations.loading.operation
        return AdapterDeclaration(
            name: name, title: "Users", summary: "People with their shoe sizes, for clients that read XML.",
            version: "2.0", entities: [Users.entity],
            operations: UserOperations.all.filter { mirror == nil || $0 != loading }, mirrors: mirror.map { [$0] } ?? []
        )
    }

    public static func make(_ configuration: AdapterConfiguration) -> any Adapter {
        XMLUsersAdapter(
            isMirror: configuration["upstream"] != nil, path: configuration["path"]?.stringValue ?? "",
            notFoundIsEmpty: configuration[emptyList]?.stringValue == notFound)
    }
}

/// Answers the contract's reads from the records; writing goes through the entity's own resource.
final class XMLUsersAdapter: Adapter {
    private let isMirror: Bool
    private let path: String
    private let notFoundIsEmpty: Bool
    private let mirrored = Mutex<UserSource?>(nil)

    init(isMirror: Bool, path: String, notFoundIsEmpty: Bool) {
        self.isMirror = isMirror
        self.path = path
        self.notFoundIsEmpty = notFoundIsEmpty
    }

    func start(_ context: AdapterContext) {
        guard let upstream = context.upstream else { return }
        let source = UserSource(
            upstream: upstream, path: path, notFoundIsEmpty: notFoundIsEmpty, records: context.records)
        mirrored.withLock { $0 = source }
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage { try await source().page(request) }

    func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        try await source().user(id)
    }

    func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult { try await source().write(change) }

    private func source() throws -> UserSource {
        guard let source = mirrored.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "No upstream is configured.")
        }
        return source
    }

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
        isMirror ? [] : [SampleRecords(Users.entity.name, SampleUsers.records)]
    }

    private func list(_ records: any RecordStore, _ fields: [FieldName]) async throws -> OperationResult {
        let entries = try await UserList(records).entries { $0.fields.only(fields) }
        return .value(.dictionary([UserOperations.entry.text: .array(entries)]))
    }

    private func user(_ call: Call) async throws -> OperationResult {
        // By the field: the ids of rows that belong to callers are others.
        let number = call[UserOperations.key]
        guard
            let record = try await call.records.query(
                Query(.compare(Users.userID, .equal, number), limit: 1), in: Users.entity.name
            ).records.first
        else { throw PorticoError(.recordNotFound, "There is no such user.", target: UserOperations.key.text) }
        return .value(.dictionary(record.fields.only(Users.all)))
    }
}

/// The whole list, in the order of the numbers: the contract knows no pages, so it is read page by page here.
struct UserList {
    static let pageSize = 1_000
    /// Beyond it a caller is sent to the entity's resource, which has pages.
    static let maximumLength = 50_000

    private let records: any RecordStore

    init(_ records: any RecordStore) {
        self.records = records
    }

    /// Throws `request.limitExceeded` where there are more than ``maximumLength``: a list that silently lacks its end
    /// would look complete.
    func entries(_ entry: (Record) -> WireDictionary) async throws -> [WireValue] {
        var entries: [WireValue] = []
        var query = Query(order: [SortKey(Users.userID)], limit: Self.pageSize)
        while true {
            let page = try await records.query(query, in: Users.entity.name)
            entries += page.records.map { .dictionary(entry($0)) }
            guard entries.count <= Self.maximumLength else { throw Self.tooLong }
            guard let next = page.next else { return entries }
            query.start = .after(next)
        }
    }

    private static let tooLong = PorticoError(
        .requestLimitExceeded,
        "There are more than \(maximumLength) users; read them page by page at /api/v1/users/users.")
}

extension WireDictionary {
    /// The members of these names, in their order.
    func only(_ names: [FieldName]) -> WireDictionary {
        var kept = WireDictionary()
        for name in names { kept[name.text] = self[name.text] }
        return kept
    }
}
