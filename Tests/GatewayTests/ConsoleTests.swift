import AdapterKit
import HTTPTypes
import Identity
import Testing
import ValueTree

@testable import Gateway

/// Who gets into the operators' console, and what no other page can do there.
@Suite struct ConsoleTests {
    private struct Console {
        static let authority = "127.0.0.1:8081"
        let host: NotesGateway
        let gateway: Gateway
        let state = ConsoleState()

        init(
            roles: [RoleName: AdminRole] = ["admin": .admin, "member": .viewer], demo: Set<AccountName> = [],
            certificates: AdminCertificates? = nil
        ) async throws {
            host = try await NotesGateway()
            let page = PageFile("/console/", .html, Array("<!DOCTYPE html>".utf8))
            let settings = ConsoleSettings(roles: roles, demoAccounts: demo, pages: [page])
            gateway = try Gateway(
                listenerOf: host.administration, identity: host.identity, certificates: certificates,
                console: (settings: settings, state: state))
        }

        /// From the console's own page, unless `fields` says otherwise.
        func send(
            _ method: HTTPRequest.Method, _ path: String, _ body: String = "{}", cookie: String? = nil,
            _ fields: [String: String] = ["Sec-Fetch-Site": "same-origin"], certificate: [UInt8]? = nil
        ) async throws -> GatewayAnswerRead {
            var all: HTTPFields = [.contentType: "application/json"]
            for (name, value) in fields { all[try #require(HTTPField.Name(name))] = value }
            if let cookie { all[.cookie] = cookie }
            return try await host.send(
                method, path, body: method == .get ? [] : Array(body.utf8), all, as: nil, by: gateway, scheme: "http",
                authority: Self.authority, certificate: certificate)
        }

        func signIn(_ credential: String) async throws -> (cookie: String, token: String) {
            let answer = try await send(.post, "/console/session", credential)
            #expect(answer.status == 200, "\(answer)")
            let cookie = String(try #require(answer.fields[.setCookie]).prefix { $0 != ";" })
            let status = try await send(.get, "/console/session", cookie: cookie)
            return (cookie, try #require(status.json["csrfToken"]?.stringValue))
        }

        func account(_ name: String) async throws -> (cookie: String, token: String) {
            try await signIn(#"{"name": "\#(name)", "password": "\#(NotesGateway.password)"}"#)
        }

        func link() async throws -> String {
            state.port.set(8081)
            let with = ConsoleLinkRoutes(
                settings: ConsoleSettings(), state: state, identity: host.identity, services: gateway.services)
            let endpoint = try #require(with.routes().first?.endpoint)
            let request = GatewayRequest(
                id: "r", method: .post, target: .root, headers: [:], peer: "local", body: .bytes([]),
                deadline: .now + .seconds(60))
            let answer = GatewayAnswerRead(
                try await endpoint.respond(
                    to: AuthenticatedRequest(request: request, caller: .anonymous, parameters: [:])))
            let url = try #require(answer.json["url"]?.stringValue)
            return String(try #require(url.split(separator: "=").last))
        }
    }

    @Test func `accounts sign in by the roles that the configuration names, and others do not`() async throws {
        let console = try await Console()
        let admin = try await console.account("admin")
        let status = try await console.send(.get, "/console/session", cookie: admin.cookie)
        #expect(status.json["role"] == "admin" && status.json["name"] == "admin" && status.json["by"] == "password")
        #expect(try await console.send(.get, "/admin/v1/status", cookie: admin.cookie).status == 200)
        let viewer = try await console.account("alice")
        let refused = try await console.send(
            .post, "/admin/v1/adapters/notes/disable", cookie: viewer.cookie,
            ["Sec-Fetch-Site": "same-origin", "X-CSRF-Token": viewer.token])
        #expect(refused.code == "access.denied")
        let none = try await Console(roles: ["other": .admin])
        let credential = #"{"name": "alice", "password": "\#(NotesGateway.password)"}"#
        #expect(try await none.send(.post, "/console/session", credential).code == "access.denied")
        let wrong = try await console.send(.post, "/console/session", #"{"name": "alice", "password": "wrong"}"#)
        #expect(wrong.code == "auth.invalid")
        #expect(wrong.fields[.setCookie] == nil)
        let basic = try await console.send(
            .get, "/admin/v1/status", "", ["Authorization": "Basic YWRtaW46cG9ydGljby1kZW1v"])
        #expect(basic.status == 401)
    }

    @Test func `accounts of the demo never sign in`() async throws {
        let console = try await Console(demo: ["Admin"])
        let credential = #"{"name": "admin", "password": "\#(NotesGateway.password)"}"#
        #expect(try await console.send(.post, "/console/session", credential).code == "access.denied")
    }

    @Test func `a link signs in once, as operator`() async throws {
        let console = try await Console()
        let link = try await console.link()
        let session = try await console.signIn(#"{"link": "\#(link)"}"#)
        #expect(try await console.send(.get, "/console/session", cookie: session.cookie).json["role"] == "operator")
        #expect(try await console.send(.post, "/console/session", #"{"link": "\#(link)"}"#).code == "auth.invalid")
        let restricted = try await console.send(
            .post, "/admin/v1/accounts/alice/disable", cookie: session.cookie,
            ["Sec-Fetch-Site": "same-origin", "X-CSRF-Token": session.token])
        #expect(restricted.code == "access.denied")
    }

    @Test func `a session of a certificate is for the connections that show it`() async throws {
        let certificates = AdminCertificates(role: .viewer) { String(decoding: $0, as: UTF8.self) }
        let console = try await Console(certificates: certificates)
        let (ada, eve) = (Array("ada".utf8), Array("eve".utf8))
        let begun = try await console.send(.post, "/console/session", #"{"certificate": true}"#, certificate: ada)
        #expect(begun.status == 200 && begun.json["role"] == "viewer", "\(begun)")
        let cookie = String(try #require(begun.fields[.setCookie]).prefix { $0 != ";" })
        func ask(_ certificate: [UInt8]?) async throws -> GatewayAnswerRead {
            try await console.send(.get, "/admin/v1/status", cookie: cookie, certificate: certificate)
        }
        #expect(try await ask(ada).status == 200)
        #expect(try await ask(eve).code == "auth.required")
        #expect(try await ask(ada).code == "auth.required", "it has ended")
        #expect(try await console.send(.post, "/console/session", #"{"certificate": true}"#).code == "auth.invalid")
    }

    @Test func `guesses of links and tokens are refused for a while`() async throws {
        let console = try await Console()
        for _ in 0..<AdminAuthenticator.failures {
            #expect(try await console.send(.post, "/console/session", #"{"link": "guess"}"#).code == "auth.invalid")
        }
        #expect(try await console.send(.post, "/console/session", #"{"token": "pa_a_b"}"#).code == "auth.throttled")
    }

    @Test(arguments: [
        [:], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "none"],
        ["Origin": "http://127.0.0.1:8080"], ["Origin": "https://127.0.0.1:8081"], ["Origin": "null"],
        ["Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8080"],
    ])
    func `a page on another port or site can neither read nor write with the cookie`(fields: [String: String])
        async throws
    {
        let console = try await Console()
        let session = try await console.account("admin")
        #expect(
            try await console.send(.get, "/admin/v1/status", cookie: session.cookie, fields).code == "access.denied")
        #expect(try await console.send(.get, "/metrics", cookie: session.cookie, fields).code == "access.denied")
        let write = try await console.send(
            .post, "/admin/v1/adapters/notes/disable", cookie: session.cookie,
            fields.merging(["X-CSRF-Token": session.token]) { $1 })
        #expect(write.code == "access.denied")
        let status = try await console.send(.get, "/console/session", cookie: session.cookie, fields)
        #expect(status.json["signedIn"] == false && status.json["csrfToken"] == nil)
        let signIn = #"{"name": "alice", "password": "\#(NotesGateway.password)"}"#
        #expect(
            try await console.send(.post, "/console/session", signIn, cookie: nil, fields).code == "access.csrfRequired"
        )
        #expect(try await console.host.get(NotesGateway.notes).status == 200)
    }

    @Test func `the page itself opens from anywhere, and holds nothing`() async throws {
        let console = try await Console()
        let session = try await console.account("admin")
        for fields in [["Sec-Fetch-Site": "none"], ["Sec-Fetch-Site": "cross-site"]] {
            let page = try await console.send(.get, "/console/", cookie: session.cookie, fields)
            #expect(page.status == 200 && page.fields[.cacheControl] == "no-store")
            let policy = page["Content-Security-Policy"]
            #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
            #expect(page["Cross-Origin-Opener-Policy"] == "same-origin")
            #expect(page["Cross-Origin-Resource-Policy"] == "same-origin")
        }
        let data = try await console.send(.get, "/admin/v1/status", cookie: session.cookie)
        #expect(data.fields[.cacheControl] == "no-store")
        #expect(data["Content-Security-Policy"].contains("frame-ancestors 'none'"))
    }

    @Test func `a write needs the session's own token, whatever else says that the page is ours`() async throws {
        let console = try await Console()
        let (first, second) = (try await console.account("admin"), try await console.account("admin"))
        let path = "/admin/v1/adapters/notes/disable"
        for fields in [["X-Requested-With": "x"], ["X-CSRF-Token": second.token], ["X-CSRF-Token": "x.y"]] {
            let answer = try await console.send(
                .post, path, cookie: first.cookie, fields.merging(["Sec-Fetch-Site": "same-origin"]) { $1 })
            #expect(answer.code == "access.csrfRequired", "\(fields)")
        }
        let own = ["Sec-Fetch-Site": "same-origin", "X-CSRF-Token": first.token]
        #expect(try await console.send(.post, path, cookie: first.cookie, own).status == 200)
    }

    @Test func `what gives rights asks for the password again, once for each action`() async throws {
        let console = try await Console()
        let session = try await console.account("admin")
        var fields = ["Sec-Fetch-Site": "same-origin", "X-CSRF-Token": session.token]
        let path = "/admin/v1/accounts/bob/roles/grant"
        let body = #"{"roles": ["admin"], "newRole": true}"#
        func ask() async throws -> GatewayAnswerRead {
            try await console.send(.post, path, body, cookie: session.cookie, fields)
        }
        #expect(try await ask().code == "access.confirmationRequired")
        let wrong = try await console.send(
            .post, "/console/session/confirmation", #"{"password": "wrong"}"#, cookie: session.cookie)
        #expect(wrong.code == "auth.invalid")
        let other = try await console.send(
            .post, "/console/session/confirmation",
            #"{"name": "alice", "password": "\#(NotesGateway.password)"}"#, cookie: session.cookie)
        #expect(other.status == 200, "the name is the session's, whatever is sent")
        fields["X-Portico-Confirmation"] = try #require(other.json["confirmation"]?.stringValue)
        #expect(try await ask().status == 204)
        #expect(try await ask().code == "access.confirmationRequired")
        // What only takes away is done at once.
        fields["X-Portico-Confirmation"] = nil
        let disabled = try await console.send(
            .post, "/admin/v1/accounts/bob/disable", cookie: session.cookie, fields)
        #expect(disabled.status == 204)
    }

    @Test func `a session ends with its role, its password and its account, and by signing out`() async throws {
        let console = try await Console()
        let administration = console.host.identity.administration
        let account = try #require(try await administration.account(named: "alice"))
        func isOpen(_ session: (cookie: String, token: String)) async throws -> Bool {
            try await console.send(.get, "/admin/v1/status", cookie: session.cookie).status == 200
        }
        var session = try await console.account("alice")
        try await administration.setRoles(["other"], of: account.id, by: .system)
        #expect(try await !isOpen(session))
        try await administration.setRoles(["member"], of: account.id, by: .system)
        #expect(try await !isOpen(session))
        session = try await console.account("alice")
        try await administration.setPassword(Secret(NotesGateway.password), of: account.id, by: .system)
        #expect(try await !isOpen(session))
        session = try await console.account("alice")
        let out = try await console.send(
            .post, "/console/session/end", cookie: session.cookie,
            ["Sec-Fetch-Site": "same-origin", "X-CSRF-Token": session.token])
        #expect(out.status == 204 && out.fields[.setCookie]?.contains("Max-Age=0") ?? false)
        #expect(try await !isOpen(session))
        session = try await console.account("alice")
        try await administration.disable(account.id, by: .system)
        #expect(try await !isOpen(session))
        let token = try await administration.addAdminToken("ops", role: .viewer, by: .system).credential.reveal()
        session = try await console.signIn(#"{"token": "\#(token)"}"#)
        #expect(try await isOpen(session))
        try await administration.revokeAdminToken("ops", by: .system)
        _ = try await administration.addAdminToken("ops", role: .viewer, by: .system)
        #expect(try await !isOpen(session))
    }

    @Test func `an account's sessions are listed and ended one by one`() async throws {
        let console = try await Console()
        let account = try #require(try await console.host.identity.administration.account(named: "alice"))
        let cookies = [try await console.account("alice").cookie, try await console.account("alice").cookie]
        _ = try await console.account("admin")
        func listed() -> [String] {
            let now = console.gateway.services.clock.now()
            return console.state.withTable { $0.sessions(ofAccount: account.id.text, at: now) }.map(\.id)
        }
        func open() async throws -> Int {
            var count = 0
            for cookie in cookies where try await console.send(.get, "/admin/v1/status", cookie: cookie).status == 200 {
                count += 1
            }
            return count
        }
        #expect(listed().count == 2)
        #expect(try await open() == 2)
        let first = try #require(listed().first)
        console.state.withTable { $0.end(first, ofAccount: "another") }
        #expect(listed().count == 2)
        console.state.withTable { $0.end(first, ofAccount: account.id.text) }
        #expect(listed().count == 1)
        #expect(try await open() == 1)
    }

    @Test func `sign-ins are audited, with who and whether they were refused`() async throws {
        let console = try await Console(roles: ["admin": .admin])
        let account = try #require(try await console.host.identity.administration.account(named: "admin"))
        _ = try await console.account("admin")
        let credential = #"{"name": "alice", "password": "\#(NotesGateway.password)"}"#
        _ = try await console.send(.post, "/console/session", credential)
        let entries = try await console.host.identity.administration.auditEntries(limit: 2)
        #expect(entries.map(\.kind) == ["administration.refused", "signIn.accepted"])
        #expect(entries[1].actor == account.id.text && entries[1].detail == "console")
    }

    @Test func `the console's cookie reaches nothing else, and nothing else sets it`() {
        let fields: HTTPFields = [
            .cookie: "a=1; portico_console=x; __Host-portico_console=y; __HOST-PORTICO_CONSOLE=z; portico_session=s",
            .accept: "application/json",
        ]
        let rest = ConsoleCookie.removed(from: fields)
        #expect(rest[.cookie] == "a=1; portico_session=s" && rest[.accept] == "application/json")
        #expect(ConsoleCookie.removed(from: [.cookie: "portico_console=x"])[.cookie] == nil)
        for field in ["portico_console=x; Path=/", " Portico_Console =x", "__Host-portico_console=x"] {
            #expect(ConsoleCookie.isSet(by: field), "\(field)")
        }
        #expect(!ConsoleCookie.isSet(by: "other=portico_console=x"))
        #expect(
            ConsoleCookie(isSecure: true).field(Secret("v"), maxAge: 1).hasPrefix("__Host-portico_console=v; Path=/;"))
        #expect(ConsoleCookie(isSecure: true).field(Secret("v"), maxAge: 1).contains("; Secure"))
    }

    @Test func `a listener answers for its own names at its own port alone`() {
        let port = ListeningPort()
        port.set(8081)
        let strict = KnownHosts(
            names: ["ops.example", "b.example:99", "127.0.0.1"], port: port, isSecure: false, others: .none)
        for authority in [
            "127.0.0.1:8081", "LOCALHOST:8081", "[::1]:8081", "ops.example", "ops.example:1", "b.example:99",
        ] {
            #expect(strict.answers(authority), "\(authority)")
        }
        for authority in [
            "evil.example", "evil.example:8081", "127.0.0.1", "localhost:8080", "b.example", "x", "10.0.0.1:8081", "",
        ] {
            #expect(!strict.answers(authority), "\(authority)")
        }
        let open = KnownHosts(names: ["api.example"], port: nil, isSecure: false, others: .unregistrable)
        for authority in [
            "127.0.0.1", "localhost:1", "api.example:8080", "a", "10.0.0.1:8080", "[fe80::1]", "x.localhost", "",
        ] {
            #expect(open.answers(authority), "\(authority)")
        }
        for authority in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "1.2.3.4.5", "256.1.1.1"] {
            #expect(!open.answers(authority), "\(authority)")
        }
    }
}

extension GatewayAnswerRead {
    /// A header field; empty where there is none.
    fileprivate subscript(name: String) -> String { HTTPField.Name(name).flatMap { fields[$0] } ?? "" }
}
