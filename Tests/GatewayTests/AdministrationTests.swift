import AdapterKit
import HTTPTypes
import Synchronization
import Testing

@testable import Gateway

/// The endpoints of the admin listener.
@Suite struct AdministrationTests {
    private let base = "/admin/v1"

    private func ask(_ host: NotesGateway, _ path: String) async throws -> GatewayAnswerRead {
        try await host.send(.get, base + path, as: nil, by: host.administration)
    }

    private func tell(_ host: NotesGateway, _ path: String, _ value: WireValue = [:]) async throws -> GatewayAnswerRead
    {
        try await host.send(.post, base + path, value, as: nil, by: host.administration)
    }

    @Test func `the status names the version and each adapter's`() async throws {
        let host = try await NotesGateway()
        let status = try await ask(host, "/status")
        #expect(status.status == 200 && status.json["version"] == "1.2.3", "\(status)")
        let adapters = try await ask(host, "/adapters")
        #expect(adapters.text.contains("notes"), "\(adapters)")
        #expect(try await ask(host, "/adapters/notes").text.contains("running"))
        #expect(try await ask(host, "/adapters/nothing").status == 404)
        #expect(try await ask(host, "/upstreams").status == 200)
        #expect(try await ask(host, "/upstreams/nothing").status == 404)
        #expect(try await ask(host, "/nothing").status == 404)
    }

    @Test func `a role that nothing names is refused with the most similar one, unless it is called new`() async throws
    {
        let host = try await NotesGateway()
        let mistyped: WireValue = ["roles": ["editr"]]
        for path in ["/accounts/alice/roles/grant", "/accounts/alice/roles"] {
            let refused = try await tell(host, path, mistyped)
            #expect(refused.status == 400 && refused.target == "roles", "\(refused)")
            #expect(refused.text.contains("Did you mean editor?"), "\(refused)")
        }
        let account: WireValue = ["name": "dora", "password": "a long password", "roles": ["editr"]]
        #expect(try await tell(host, "/accounts", account).status == 400)
        #expect(try await tell(host, "/accounts/alice/keys", ["title": "a", "roles": ["editr"]]).status == 400)
        let new: WireValue = ["roles": ["editr"], "newRole": true]
        #expect(try await tell(host, "/accounts/alice/roles/grant", new).status < 300)
        // One that the account has is no mistake.
        #expect(try await tell(host, "/accounts/alice/roles", mistyped).status < 300)
        #expect(try await ask(host, "/accounts/alice").json["roles"] == ["editr"])
    }

    @Test(arguments: [
        ("identity.providers.corp.roles", "[member, staff]", ["member", "staff"]),
        ("identity.providers.corp.groups.portal-admins", "[admin]", ["admin"]),
        (
            "identity.demoAccounts", "[{name: alice, roles: [member]}, {name: admin, roles: [member, admin]}]",
            ["admin", "member"]
        ),
        ("adapters.chat.moderators", "[admin]", ["admin"]), ("adapters.notes.access", "{roles: [editor]}", ["editor"]),
        ("adapters.notes.access", "{read: login, write: {roles: [editor]}}", ["editor"]),
        ("admin.roles.viewer", "[audit]", ["audit"]), ("admin.tls.role", "viewer", []), ("http.host", "127.0.0.1", []),
    ])
    func `a setting names roles`(key: String, value: String, roles: [String]) {
        let setting = ConfiguredSetting(key: key, value: value, location: nil, reloads: true)
        #expect(NamedRoles.roles(setting).map(\.text).sorted() == roles)
    }

    @Test func `accounts are added, disabled, enabled and given roles and passwords`() async throws {
        let host = try await NotesGateway()
        let added = try await tell(
            host, "/accounts", ["name": "carol", "password": "a long password", "roles": ["editor"]])
        #expect(added.status < 300, "\(added)")
        #expect(try await tell(host, "/accounts", ["name": "carol", "password": "a long password"]).status == 409)
        #expect(try await tell(host, "/accounts", ["password": "a long password"]).target == "name")
        #expect(try await ask(host, "/accounts").text.contains("carol"))
        #expect(try await tell(host, "/accounts/alice/disable").status < 300)
        #expect(try await host.get("/auth/me").status == 401)
        #expect(try await tell(host, "/accounts/alice/enable").status < 300)
        #expect(try await host.get("/auth/me").status == 200)
        // A mount names it.
        #expect(try await tell(host, "/accounts/alice/roles/grant", ["roles": ["editor"]]).status < 300)
        #expect(try await host.get("/auth/me").json["roles"] == ["editor", "member"])
        #expect(try await tell(host, "/accounts/alice/roles/revoke", ["roles": ["member"]]).status < 300)
        #expect(try await host.get("/auth/me").json["roles"] == ["editor"])
        #expect(try await tell(host, "/accounts/alice/roles", ["roles": []]).status < 300)
        #expect(try await host.get("/auth/me").json["roles"] == [])
        #expect(try await tell(host, "/accounts/alice/roles", ["roles": [""]]).status == 400)
        #expect(try await tell(host, "/accounts/alice/password", ["password": "a new long password"]).status < 300)
        #expect(try await host.get("/auth/me").status == 401)
        #expect(try await tell(host, "/accounts/nobody/disable").status == 404)
        #expect(try await ask(host, "/accounts/bob/sessions").status == 200)
        #expect(try await ask(host, "/accounts/bob/keys").status == 200)
    }

    @Test func `what was done is in the audit log, which can be verified`() async throws {
        let host = try await NotesGateway()
        #expect(try await tell(host, "/accounts/alice/disable").status < 300)
        let entries = try await tell(host, "/audit/entries")
        let latest = entries.json["entries"]?.arrayValue?.prefix(2) ?? []
        #expect(entries.status == 200 && latest.last?["detail"] == "disabled", "\(entries)")
        #expect(latest.last?["actor"] == "operator" && latest.first?["actor"] == "operator")
        #expect(latest.first?["subject"] == "admin.accounts.disable" && latest.first?["detail"] == "done name=alice")
        #expect(try await tell(host, "/audit/verify").status == 200)
        #expect(try await tell(host, "/audit/verify", ["head": "nonsense"]).target == "head")
        #expect(try await tell(host, "/audit/entries", ["limit": 1]).json["entries"]?.arrayValue?.count == 1)
    }

    @Test func `an apply that takes nothing up is not called done`() async throws {
        let host = try await NotesGateway()
        #expect(try await tell(host, "/configuration/apply").status == 200)
        let latest = try await tell(host, "/audit/entries", ["limit": 1]).json["entries"]?.arrayValue?.first
        #expect(latest?["subject"] == "admin.configuration.apply" && latest?["detail"] == "nothing changed")
    }

    @Test func `the audit log is filtered by kind and person before it is cut into pages`() async throws {
        let host = try await NotesGateway()
        for _ in 0..<3 { _ = try await tell(host, "/accounts/alice/disable") }
        let all = try await tell(host, "/audit/entries", ["kind": "signingKey.rotated", "limit": 1])
        #expect(all.json["entries"]?.arrayValue?.first?["kind"] == "signingKey.rotated", "\(all)")
        #expect(all.json["kinds"]?.arrayValue?.contains("store.restored") == true)
        let alice = try await tell(host, "/audit/entries", ["person": "alice", "kind": "account.changed"])
        #expect(alice.json["entries"]?.arrayValue?.isEmpty == false)
        #expect(try await tell(host, "/audit/entries", ["person": "nobody"]).json["entries"]?.arrayValue == [])
    }

    @Test func `operations for operators are called here and nowhere else`() async throws {
        let host = try await NotesGateway()
        let answer = try await tell(host, "/adapters/notes/operations/clear")
        #expect(answer.status == 200 && answer.text.contains("true"), "\(answer)")
        #expect(try await tell(host, "/adapters/notes/operations/share").status == 404)
        let elsewhere = try await host.send(.post, "\(base)/adapters/notes/operations/clear", as: nil)
        #expect(elsewhere.status == 404)
    }

    @Test func `a mirror that takes no changes is described as written by nobody`() {
        let names: [EntityName] = ["shown", "written", "own"]
        let entities = names.map { name in
            Entity(name, summary: "", key: EntityKey("id"), fields: [Field("id", .string)])
        }
        let declaration = AdapterDeclaration(
            name: "probe", title: "Probe", summary: "", version: "1", entities: entities,
            mirrors: [
                MirrorSource("shown", of: "hr"), MirrorSource("written", of: "hr", writing: .through),
            ])
        #expect(entities.map { declaration.writeRule(of: $0).value } == ["nobody", "everyone", "everyone"])
    }

    @Test func `an adapter's process is described with its crashes, and counts as failed where it does not serve`()
        async throws
    {
        let notes = ProcessNotes()
        let host = try await NotesGateway(adapter: notes)
        let shown = try await ask(host, "/adapters/notes").json
        #expect(shown["state"] == "running" && shown["process"]?["crashes"] == 3, "\(shown)")
        let crashes = try await ask(host, "/adapters/notes/crashes").json["crashes"]
        #expect(crashes?.arrayValue?.first?["reason"] == "signal 4 (SIGILL)")
        #expect(try await ask(host, "/adapters/nothing/crashes").status == 404)
        let metrics = try await host.send(.get, "/metrics", as: nil, by: host.administration).text
        for line in [
            "portico_adapter_up{adapter=\"notes\"} 1", "portico_adapter_restarts_total{adapter=\"notes\"} 2",
            "portico_adapter_crashes_total{adapter=\"notes\"} 3",
            "portico_adapter_calls_in_flight{adapter=\"notes\"} 5",
            "portico_adapter_queued_calls{adapter=\"notes\"} 6",
            "portico_adapter_resident_bytes{adapter=\"notes\"} 4096",
            "portico_adapter_processor_seconds_total{adapter=\"notes\"} 1.5",
            "portico_adapter_counter_total{adapter=\"notes\",name=\"starts\"} 1",
            "portico_adapter_gauge{adapter=\"notes\",name=\"length\"} 0.5",
        ] { #expect(metrics.contains(line), "\(line)") }
        notes.fail()
        #expect(try await ask(host, "/adapters").json["adapters"]?.arrayValue?.first?["state"] == "failed")
        #expect(try await ask(host, "/status").json["failedAdapters"] == ["notes"])
        let later = try await host.send(.get, "/metrics", as: nil, by: host.administration).text
        #expect(later.contains("portico_adapter_up{adapter=\"notes\"} 0"))
    }

    @Test(arguments: [
        ("/sync/changes?after=x", "after"), ("/sync/changes?after=1.5", "after"), ("/sync/changes?limit=", "limit"),
        ("/sync/conflicts?before=x", "before"), ("/sync/conflicts?before=9223372036854775808", "before"),
        ("/sync/conflicts?limit=0", "limit"), ("/sync/conflicts?limit=1001", "limit"),
    ])
    func `what is no number of a list is refused by its name`(path: String, parameter: String) async throws {
        let refused = try await ask(try await NotesGateway(), path)
        #expect(refused.status == 400 && refused.target == parameter, "\(refused)")
    }

    @Test(arguments: [0, 10_001]) func `more lines of the log than there are at once are refused`(limit: Int64)
        async throws
    {
        let refused = try await tell(try await NotesGateway(), "/logs/search", ["limit": .int64(limit)])
        #expect(refused.status == 400 && refused.target == "limit", "\(refused)")
    }

    @Test func `sync is described, explained and compacted`() async throws {
        let host = try await NotesGateway()
        let path = try await host.note()
        let id = path.split(separator: "/").last ?? ""
        #expect(try await ask(host, "/sync/status").status == 200)
        let changes = try await ask(host, "/sync/changes")
        #expect(changes.status == 200 && changes.text.contains(id), "\(changes)")
        let explained = try await ask(host, "/sync/explanations/alice/notes/\(id)")
        #expect(explained.status == 200 || explained.status == 404, "\(explained)")
        #expect(try await ask(host, "/sync/explanations/nobody/notes/\(id)").status == 404)
        let dry = try await tell(host, "/sync/compaction", ["dryRun": true])
        #expect(dry.status < 500, "\(dry)")
        #expect(try await tell(host, "/sync/sweep").status < 500)
        #expect(try await tell(host, "/signing-keys/rotate").status < 300)
    }
}

/// The notes as if a process answered them.
final class ProcessNotes: ProcessAdapter {
    private let notes = NotesAdapter()
    private let hasFailed = Mutex(false)

    func fail() { hasFailed.withLock { $0 = true } }

    var processReport: AdapterProcessReport {
        let hasFailed = hasFailed.withLock { $0 }
        return AdapterProcessReport(
            state: hasFailed ? "failed" : "running", reason: hasFailed ? "signal 4 (SIGILL)" : nil,
            isServing: !hasFailed, process: 42, launched: nil, restarts: 2, crashes: 3, callsUnderWay: 5,
            callsWaiting: 6)
    }

    var processUsage: AdapterProcessUsage {
        AdapterProcessUsage(residentBytes: 4_096, processorTime: .milliseconds(1_500))
    }

    var crashReports: [WireValue] { [["reason": "signal 4 (SIGILL)"]] }

    func start(_ context: AdapterContext) async throws {
        try await notes.start(context)
        context.metrics.increment("starts")
        context.metrics.set("length", 0.5)
    }
    func handle(_ call: Call) async throws -> OperationResult { try await notes.handle(call) }
    func handle(_ request: MountRequest) async throws -> MountResponse { try await notes.handle(request) }
}
