import AdapterKit
import Crypto
import Synchronization
import Testing
import UpstreamStandIn

@testable import Upstream

@Suite struct CredentialTests {
    private static let secret = Secret("s3cret-value")
    private static let clock = FixedClock()

    @Test func `Basic, bearer and a header field go out with every call`() async throws {
        for (credentials, field, expected) in [
            (
                UpstreamCredentials.basic(username: "ann", password: Self.secret), "Authorization",
                "Basic YW5uOnMzY3JldC12YWx1ZQ=="
            ), (.bearer(Self.secret), "Authorization", "Bearer s3cret-value"),
            (.apiKey(header: "X-Key", value: Self.secret), "X-Key", "s3cret-value"),
        ] {
            try await withServer(credentials: .fixed(credentials)) { server, upstream async throws in
                #expect(try await page(upstream).status == 200)
                #expect(server.requests.map { $0[field] } == [expected])
            }
        }
    }

    @Test func `credentials go to the upstream's own server only`() async throws {
        let other = try await StandIn { _ in .plain(200) }
        try await withServer(also: [other.address], credentials: .fixed(.bearer(Self.secret))) {
            _, upstream async throws in
            let elsewhere = UpstreamRequest(.get, try address(other.address))
            #expect(try await upstream.send(elsewhere).status == 200)
        }
        #expect(other.requests.count == 1)
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil })
        await other.stop()
    }

    @Test func `a token is fetched once for all who wait, and used until it expires`() async throws {
        try await withServer(credentials: oauth2) { server, upstream async throws in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await page(upstream).status } }
                for try await status in group { #expect(status == 200) }
            }
            let fetches = server.requests.filter { $0.path == "/token" }
            #expect(fetches.count == 1)
            #expect(fetches.first?.text == "grant_type=client_credentials&scope=a+b")
            // RFC 6749, section 2.3.1.
            #expect(fetches.first?["Authorization"] == "Basic Z2F0ZSUzQXdheTpzM2NyZXQtdmFsdWU=")
            let pages = server.requests.filter { $0.path == "/page" }
            #expect(pages.count == 10 && pages.allSatisfy { $0["Authorization"] == "Bearer t1" })
        }
    }

    @Test func `a token that the upstream refuses is fetched anew once`() async throws {
        try await withServer(refusing: ["t1"], credentials: oauth2) { server, upstream async throws in
            #expect(try await page(upstream).status == 200)
            #expect(server.requests.map(\.path) == ["/token", "/page", "/token", "/page"])
        }
        try await withServer(refusing: ["t1", "t2"], credentials: oauth2) { server, upstream async throws in
            #expect(try await page(upstream).status == 401)
            #expect(server.requests.map(\.path) == ["/token", "/page", "/token", "/page"])
        }
    }

    @Test func `a refusal of the token endpoint says why and holds no secret`() async throws {
        let messages = Mutex<[String]>([])
        let log = Log { message in messages.withLock { $0.append("\(message)") } }
        try await withServer(
            tokens: .plain(401, [], #"{"error":"invalid_client","x":"s3cret-value"}"#), log: log, credentials: oauth2
        ) {
            server, upstream async throws in
            for _ in 0..<3 {
                let failure = await #expect(throws: UpstreamFailure.self) {
                    try await page(upstream)
                }
                #expect(failure?.kind == .credentialsRefused)
                #expect(failure?.detail == "the token endpoint answered 401 invalid_client")
            }
            #expect(server.requests.map(\.path) == ["/token"])
        }
        #expect(messages.withLock { $0.allSatisfy { !$0.contains("s3cret") } })
    }

    @Test func `an assertion is signed with the key and stands for a token`() async throws {
        let key = P256.Signing.PrivateKey()
        let scopes = ["https://example.com/push"]
        let credentials = Credentials { url in
            guard let token = url.resolving("token"),
                let bearer = JWTBearer(
                    tokenURL: token, issuer: "account@example.com", scopes: scopes,
                    key: Secret(key.pemRepresentation))
            else { return .none }
            return .jwtBearer(bearer)
        }
        try await withServer(credentials: credentials) { server, upstream async throws in
            #expect(try await page(upstream).status == 200)
            let form = try #require(server.requests.first).text
            #expect(form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))
            let parts = try #require(form.split(separator: "=").last).split(separator: ".").map(String.init)
            #expect(parts.count == 3)
            let claims = try #require(Base64URL.decode(parts[1]).map { String(decoding: $0, as: UTF8.self) })
            for claim in [
                #""iss":"account@example.com""#, #""sub":"account@example.com""#, #""iat":1767225600"#,
                #""exp":1767225900"#, #""scope":"https:"#, "/token",
            ] { #expect(claims.contains(claim), "\(claim) in \(claims)") }
            let signature = try P256.Signing.ECDSASignature(
                rawRepresentation: try #require(Base64URL.decode(parts[2])))
            #expect(key.publicKey.isValidSignature(signature, for: Array((parts[0] + "." + parts[1]).utf8)))
        }
    }

    @Test func `a caller's identity is exchanged, for each caller apart, and nobody's for nobody`() async throws {
        let credentials = Credentials { url in
            guard let token = url.resolving("token") else { return .none }
            return .exchange(TokenEndpoint(url: token, clientID: "gate", clientSecret: Self.secret), audience: "hr")
        }
        try await withServer(credentials: credentials) { server, upstream async throws in
            #expect(upstream.actsForCallers)
            for name in ["ann", "ben", "ann"] {
                let caller = Principal(kind: .user, id: name, name: name)
                #expect(try await page(upstream, for: caller).status == 200)
            }
            let fetches = server.requests.filter { $0.path == "/token" }.map(\.text)
            #expect(fetches.count == 2)
            #expect(fetches.first?.contains("subject_token=about-ann&") == true)
            #expect(fetches.first?.contains("audience=hr") == true)
            let pages = server.requests.filter { $0.path == "/page" }.map { $0["Authorization"] }
            #expect(pages == ["Bearer t1", "Bearer t2", "Bearer t1"])
            for caller in [nil, Principal.anonymous] {
                let failure = await #expect(throws: UpstreamFailure.self) {
                    try await page(upstream, for: caller)
                }
                #expect(failure?.kind == .signInRequired)
            }
        }
    }

    @Test func `each sign-in with each set of roles has a token of its own, until something of the account ends`()
        async throws
    {
        let credentials = Credentials { url in
            guard let token = url.resolving("token") else { return .none }
            return .exchange(TokenEndpoint(url: token, clientID: "gate", clientSecret: Self.secret), audience: "hr")
        }
        try await withServer(credentials: credentials) { server, upstream async throws in
            func shown(_ roles: Set<RoleName>, _ signIn: String) async throws -> String? {
                var context = CallContext(deadline: .now + .seconds(60), requestID: "1")
                context.signIn = signIn
                let ann = Principal(kind: .user, id: "ann", name: "ann", roles: roles)
                let status = try await CallContext.$current.withValue(context) {
                    try await page(upstream, for: ann).status
                }
                #expect(status == 200)
                return server.requests.last?["Authorization"]
            }
            #expect(try await shown(["hr"], "s1") == "Bearer t1")
            #expect(try await shown([], "key") == "Bearer t2")
            #expect(try await shown([], "s1") == "Bearer t3")
            #expect(try await shown(["hr"], "s2") == "Bearer t4")
            #expect(try await shown(["hr"], "s1") == "Bearer t1")
            upstream.forget("ben")
            #expect(try await shown(["hr"], "s1") == "Bearer t1")
            upstream.forget("ann")
            #expect(try await shown(["hr"], "s1") == "Bearer t5")
        }
    }

    private struct FixedClock: WallClock {
        func now() -> WireDate { WireDate(secondsSince1970: 1_767_225_600) }
    }

    /// For the server whose address is known once it runs.
    private struct Credentials: Sendable {
        let make: @Sendable (UpstreamAddress) -> UpstreamCredentials

        static func fixed(_ credentials: UpstreamCredentials) -> Credentials { Credentials { _ in credentials } }
    }

    private let oauth2 = Credentials { url in
        guard let token = url.resolving("token") else { return .none }
        return .oauth2(TokenEndpoint(url: token, clientID: "gate:way", clientSecret: secret), scopes: ["a", "b"])
    }

    private func page(_ upstream: any Upstream, for caller: Principal? = nil) async throws -> UpstreamResponse {
        try await upstream.send(UpstreamRequest(.get, try #require(upstream.url.resolving("page"))), for: caller)
    }

    /// Issues tokens `t1`, `t2`, … and refuses those of `refusing`.
    private func withServer(
        also others: [String] = [], refusing: [String] = [], tokens: StandIn.Answer? = nil, log: Log = .discarding,
        credentials: Credentials,
        _ body: (StandIn, AuthorizedUpstream) async throws -> Void
    ) async throws {
        let counter = Counter()
        let server = try await StandIn { request in
            if request.path == "/token" {
                return tokens ?? .plain(200, [], #"{"access_token":"t\#(counter.next())","expires_in":600}"#)
            }
            let isRefused = refusing.contains { request["Authorization"] == "Bearer \($0)" }
            return .plain(isRefused ? 401 : 200)
        }
        var settings = UpstreamSettings.loopback([server.address] + others)
        settings.url = try address(server.address + "/")
        let transport = HTTPUpstream(settings, log: log)
        let upstream = AuthorizedUpstream(transport, credentials.make(settings.url), clock: Self.clock) { caller in
            guard !caller.isAnonymous else { throw PorticoError(.loginRequired, "No.") }
            return Secret("about-\(caller.name)")
        }
        do { try await body(server, upstream) } catch { Issue.record(error) }
        await transport.stop()
        await server.stop()
    }
}
