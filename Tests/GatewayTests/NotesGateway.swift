import AdapterKit
import AttachmentFiles
import Crypto
import Foundation
import HTTPTypes
import Identity
import RecordStorage
import SQLiteStore
import StoreConformance
import Testing
import WireFormats

@testable import Gateway

/// Both gateways of a host with one adapter, without listeners: requests in, responses out. The accounts `alice`, `bob`
/// and `admin` have the password `portico-demo`.
final class NotesGateway: Sendable {
    static let notes = "/api/v1/notes/notes"
    static let password = "portico-demo"

    let gateway: Gateway
    let administration: Gateway
    let identity: Identity
    let readiness: Readiness
    let liveFeeds: LiveFeedServices
    let sync: SyncServices
    private let folder: TemporaryFolder
    private let supervisor: AdapterSupervisor

    init(
        adapter: any Adapter = NotesAdapter(),
        configuration control: any ConfigurationControl = NoConfigurationControl(),
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws {
        folder = try TemporaryFolder()
        var settings = GatewaySettings()
        settings.allowsBasic = true
        settings.version = "1.2.3"
        settings.origins = ["https://app.example"]
        settings.portalLogin = "/irj/portal"
        change(&settings)
        let clock = FixedTime()
        let file = try SQLiteStore(SQLiteStoreSettings(path: folder.path("store.sqlite"), clock: clock))
        // What the store knows of its position may lag behind commits: nothing here may rely on it.
        let store = LaggingStore(file, seed: 42, catchingUpAfter: .milliseconds(20))
        let served = ServedAdapter(
            declaration: NotesAdapter.declaration, adapter: adapter, log: .discarding)
        let collections =
            Identity.collections() + SyncServices.collections() + PendingWriteRecords.collections
            + NotesAdapter.declaration.entities.map { CollectionDeclaration(adapter: "notes", entity: $0) }
        try await store.install(collections)
        var configuration = IdentityConfiguration()
        configuration.passwords.scrypt = try #require(ScryptParameters(logRounds: 10, blockSize: 1, parallelism: 1))
        configuration.basic.enabled = true
        // Of real time: a machine that stands still for a while refuses no sign-in of a test.
        configuration.passwords.longestWait = .seconds(3_600)
        identity = try await Identity(store: store, configuration: configuration, clock: clock, log: .discarding)
        let accounts: [(AccountName, RoleName)] = [("alice", "member"), ("bob", "member"), ("admin", "admin")]
        for (name, role) in accounts {
            try await identity.administration.addAccount(
                NewAccount(name, roles: [role], password: Secret(Self.password)), by: .system)
        }
        let attachments = try AttachmentFiles(
            in: URL(filePath: folder.path("attachments")), limits: AttachmentLimits(), clock: clock)
        sync = try await SyncServices(
            adapters: [served], store: store, attachments: attachments, settings: settings.sync, clock: clock)
        liveFeeds = try LiveFeedServices(
            adapters: [served], store: store, sync: sync, settings: settings.liveFeeds, log: .discarding)
        readiness = Readiness(adapters: [served]) { nil }
        gateway = try Gateway(
            adapters: [served], store: store, identity: identity, sync: sync, liveFeeds: liveFeeds, settings: settings,
            readiness: readiness, clock: clock, log: .discarding)
        let maintenance = StoreMaintenance(
            store: file,
            attachments: AttachmentMaintenance(
                attachments, store: store, collections: collections, window: 3600, clock: clock),
            windows: RetentionWindows(offline: 3600, kept: 3600), clock: clock)
        administration = try Gateway(
            administrationOf: [served], store: store, identity: identity, sync: sync, maintenance: maintenance,
            inspect: { checks in
                let found = try await file.inspect(checksIntegrity: checks)
                return StoreSummary(
                    contents: found.contents, freeBytes: found.freeBytes, logFileBytes: found.logFileBytes)
            },
            configuration: control, settings: settings, readiness: readiness, clock: clock, log: .discarding,
            isRestorePending: { false })
        let lookup = identity.accounts
        supervisor = AdapterSupervisor([served], limits: AdapterLimits(), clock: clock) { served in
            try await served.start(
                in: store, accounts: lookup, clock: clock, live: NoLiveSignals(), push: NoPushSender(),
                upstreams: AdapterUpstreams(), serviceOperations: [], scratch: NoScratchStorage())
        }
        await supervisor.firstAttempts()
    }

    /// By Basic authentication where `user` is one.
    func send(
        _ method: HTTPRequest.Method, _ path: String, body: [UInt8] = [], _ fields: HTTPFields = [:],
        as user: String? = "alice", by gateway: Gateway? = nil, scheme: String = "https",
        authority: String = "portico.example", peer: String = "192.0.2.1", certificate: [UInt8]? = nil
    ) async throws -> GatewayAnswerRead {
        var fields = fields
        if let user, fields[.authorization] == nil {
            fields[.authorization] = "Basic " + Data("\(user):\(Self.password)".utf8).base64EncodedString()
        }
        let target = try #require(RequestTarget(path), "\(path)")
        let request = GatewayRequest(
            id: "r1", method: method, target: target, headers: fields, peer: peer, scheme: scheme,
            authority: authority, certificate: certificate, body: .bytes(body), deadline: .now + .seconds(60))
        return GatewayAnswerRead(await (gateway ?? self.gateway).respond(to: request).response)
    }

    /// With a JSON body.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ value: WireValue, _ fields: HTTPFields = [:],
        as user: String? = "alice", by gateway: Gateway? = nil
    ) async throws -> GatewayAnswerRead {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        return try await send(method, path, body: JSONFormat().write(value), fields, as: user, by: gateway)
    }

    func get(_ path: String, _ fields: HTTPFields = [:], as user: String? = "alice") async throws -> GatewayAnswerRead {
        try await send(.get, path, fields, as: user)
    }

    /// The path of a new note.
    func note(_ fields: WireDictionary = [:], as user: String = "alice") async throws -> String {
        var note: WireDictionary = ["title": "t"]
        for member in fields { note[member.key] = member.value }
        let made = try await send(.post, Self.notes, .dictionary(note), as: user)
        #expect(made.status == 201, "\(made)")
        return try #require(made.fields[.location])
    }
}

/// A response as a test looks at it.
struct GatewayAnswerRead: CustomStringConvertible {
    let status: Int
    let fields: HTTPFields
    let body: [UInt8]
    let isStream: Bool

    init(_ response: GatewayResponse) {
        (status, fields, body, isStream) = (
            response.status.code, response.headers, response.body, response.stream != nil
        )
    }

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: WireValue { (try? JSONFormat().read(body)) ?? .null }
    var code: String? { json["error"]?["code"]?.stringValue }
    var target: String? { json["error"]?["target"]?.stringValue }
    var description: String { "\(status) \(text.prefix(300))" }
}

/// Notes of one owner who may share them, an operation of each kind, and a mount.
struct NotesAdapter: Adapter {
    static let declaration = AdapterDeclaration(
        name: "notes", title: "Notes", summary: "Notes.", version: "1", access: .login,
        entities: [
            Entity(
                "notes", summary: "A note.", key: EntityKey("id"),
                fields: [
                    Field("id", .string(maximumLength: 64), source: .callerOnCreate),
                    Field("title", .string(TextLimits(minimumLength: 1, maximumLength: 40)), isRequired: true),
                    Field("text", .string(maximumLength: 1000), defaultValue: ""),
                    Field("stars", .integer(IntegerRange(0...5)), isNullable: true),
                    Field("due", .date, isNullable: true), Field("owner", .string, source: .creator),
                    Field("sharedWith", .list(of: .string(maximumLength: 64)), defaultValue: []),
                    Field("modified", .date, source: .modifiedAt),
                    Field("attachments", .list(of: .string(maximumLength: 64)), defaultValue: [], maximumCount: 5),
                ],
                indexes: [Index(["owner", "modified"])], searchFields: ["title", "text"], attachments: ["attachments"],
                rows: RowRules(read: .any([.owner("owner"), .sharedWith("sharedWith")]), write: .owner("owner"))),
            Entity(
                "rooms", summary: "A room.", key: EntityKey("id"),
                fields: [
                    Field("id", .string(maximumLength: 64), source: .callerOnCreate), Field("name", .string),
                    Field("owner", .string, source: .creator),
                    Field("members", .list(of: .string(maximumLength: 64)), defaultValue: [], maximumCount: 10),
                ], rows: RowRules(read: .sharedWith("members"), write: .sharedWith("members"))),
            Entity(
                "posts", summary: "A post in a room.", key: EntityKey("id"),
                fields: [
                    Field("id", .string(maximumLength: 64), source: .callerOnCreate),
                    Field("room", .string(maximumLength: 64), isRequired: true, source: .callerOnCreate),
                    Field("text", .string),
                ],
                rows: RowRules(
                    read: .memberOf("rooms", through: "room", members: "members"),
                    write: .memberOf("rooms", through: "room", members: "members"))),
        ],
        operations: [
            Operation(
                "share", summary: "Lets another account read a note.", effect: .writes,
                input: ObjectShape(
                    "Share",
                    members: [Member("id", .string, isRequired: true), Member("with", .string, isRequired: true)]),
                output: .object(ObjectShape("Shared", members: [Member("sharedWith", .list(of: .string))]))),
            Operation(
                "double", summary: "Twice a number.", effect: .reads,
                input: ObjectShape("Number", members: [Member("number", .integer, isRequired: true)]),
                output: .object(ObjectShape("Doubled", members: [Member("doubled", .integer)])), access: .public,
                bindings: [
                    HTTPBinding(.get, "/double/{number}"), HTTPBinding(.get, "/double", queryMembers: ["number"]),
                ]),
            Operation(
                "fail", summary: "Fails.", effect: .reads,
                input: ObjectShape(
                    "Failure",
                    members: [Member("kind", .choice(["upstream", "refusal", "defect", "internal", "code"]))]),
                output: .bool),
            Operation(
                "titles", summary: "The titles of the caller's notes.", effect: .reads, output: .list(of: .string),
                caching: .untilRecordsChange, entities: ["notes"], bindings: [HTTPBinding(.get, "/titles")]),
            Operation(
                "clear", summary: "Says that it was asked.", effect: .writes, output: .bool, audience: .operators),
        ],
        mounts: [
            HTTPMount("files", summary: "Files.", path: "/files", methods: ["GET", "POST"]),
            HTTPMount(
                "drafts", summary: "Files of editors.", path: "/drafts", methods: ["GET"], access: .roles(["editor"])),
            HTTPMount(
                "leaflets", summary: "Files that the adapter hands out.", path: "/leaflets", methods: ["GET"],
                authorization: .byOperation),
        ],
        liveFeeds: [
            LiveFeed(
                "live", summary: "What happens in the caller's rooms.", path: "/rooms/live",
                group: LiveFeed.Group(
                    "rooms", members: "members", membership: "membership", changed: "room", fields: ["id", "name"]),
                sources: [
                    LiveFeed.Source(
                        "posts", group: "room", created: "post", changed: "edit", removed: "removal",
                        fields: ["id", "room", "text"])
                ], presence: "presence")
        ])

    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case "share":
            let id = try #require(RecordID(call.input["id"]?.stringValue ?? ""))
            let note = try await call.records.update(
                id, ["sharedWith": [call.input["with"] ?? .null]], in: "notes")
            return .value(["sharedWith": note["sharedWith"]])
        case "titles":
            let notes = try await call.records.query(Query(), in: "notes")
            return .value(.array(notes.records.map { $0["title"] }))
        case "double": return .value(["doubled": .int64((call.input["number"]?.int64Value ?? 0) * 2)])
        case "fail":
            switch call.input["kind"]?.stringValue {
            case "upstream": throw PorticoError(.upstreamFailed, "The system is not there.", retryAfter: 7)
            case "refusal": throw MirrorRefusal(.loginPage, "a login page")
            case "defect": throw CocoaError(.coderInvalidValue)
            case "internal": throw PorticoError(.serverInternal, "The collection a/b is not installed.", target: "kind")
            default: throw PorticoError(.recordConflict, "This is in the way.", target: "kind")
            }
        default: return .value(true)
        }
    }

    func handle(_ request: MountRequest) async throws -> MountResponse {
        guard request.method == "GET" else {
            return MountResponse(201, headers: ["Content-Type": "text/plain"], body: request.body)
        }
        if request.target == "/files/refusal" { throw MirrorRefusal(.malformed, "half a document") }
        // What an answer's head must not decide.
        let framing: MountHeaders = [
            "Content-Length": "2", "Connection": "close", "Keep-Alive": "timeout=1", "Date": "never",
        ]
        if request.target == "/files/framed" { return MountResponse(200, headers: framing, body: Array("whole".utf8)) }
        if request.target == "/files/nothing" { return MountResponse(204, headers: framing, body: Array("some".utf8)) }
        if request.target == "/files/reset" { return MountResponse(205, headers: framing, body: Array("some".utf8)) }
        let twice = MountHeaders(["a", "b"].map { MountHeaders.Field("Location", $0) })
        if request.target == "/files/twice" { return MountResponse(200, headers: twice, body: []) }
        if request.target == "/files/broken" { return MountResponse(200, headers: Self.broken, body: []) }
        if request.target == "/files/origin" { return MountResponse(200, headers: Self.ofOrigin, body: []) }
        let text = "\(request.target) \(request.caller.name)"
        return MountResponse(200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
    }

    static let broken: MountHeaders = [
        "ETag": "no quotes", "Age": "-1", "Retry-After": "-5", "Last-Modified": "yesterday", "Content-Language": "en",
    ]

    static let ofOrigin = MountHeaders(
        [
            ("Clear-Site-Data", "\"*\""), ("strict-transport-security", "max-age=0"), ("Public-Key-Pins", "x"),
            ("Service-Worker-Allowed", "/"), ("Alt-Svc", "h2=\"evil.example:443\""), ("NEL", "{}"), ("Report-To", "{}"),
            ("Reporting-Endpoints", "a=\"https://evil.example\""), ("X-Accel-Redirect", "/internal"),
            ("Set-Cookie", "portico_session=stolen; Path=/"), ("SET-COOKIE", "portico_session =stolen"),
            ("Set-Cookie", "portico_sign_in=stolen"), ("Set-Cookie", "portico_pending=stolen"),
            ("X-Sendfile2", "/etc/evil"), ("Use-As-Dictionary", "match=\"/*evil\""),
            ("Set-Cookie", "stolen"), ("Set-Cookie", "own=stolen; Path=/files"),
            ("Access-Control-Allow-Origin", "https://evil.example"), ("WWW-Authenticate", "Basic realm=\"evil\""),
            ("Refresh", "0; url=https://evil.example"), ("X-CSRF-Token", "stolen"), ("X-Anything-New", "evil"),
            // What describes the answer.
            ("Content-Type", "text/plain"), ("Content-Language", "de"), ("Link", "</files/next>; rel=next"),
            ("Cache-Control", "private"), ("Location", "/files/other"), ("Retry-After", "7"),
            ("ETag", "W/\"1\""), ("Content-Security-Policy", "default-src 'self'"), ("Age", "18446744073709551616"),
            ("X-Adapter-Left", "3"),
        ].map { MountHeaders.Field($0.0, $0.1) })

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [FrontPageEntry(title: "Notes & more", path: "/api/v1/notes/notes", summary: "Notes.")]
    }
}

struct FixedTime: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: 1_767_225_600) }
}

private final class TemporaryFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
}

/// SHA-256 in hexadecimal digits, as attachments are named.
enum AttachmentDigestText {
    static func of(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count < 2 ? "0\(digits)" : digits
        }.joined()
    }
}
