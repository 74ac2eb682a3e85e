import AdapterKit
import Foundation
import Gateway
import HostConfiguration
import Identity
import Push
import RecordStorage
import SyncEngine
import Testing
import Upstream

@testable import Host

/// What a configuration becomes, and what is refused before anything is opened.
@Suite struct PlanTests {
    private static let upstream = "url: https://a.example/"

    private static func upstream(_ members: String) -> String { "upstreams: { a: { \(upstream), \(members) } }" }

    private static func provider(_ members: String, _ further: String = "") -> String {
        """
        upstreams: { a: { url: https://a.example/base/, servers: [https://sso.example] \(further) } }
        identity: { providers: { p: { upstream: a, \(members) } } }
        """
    }

    private static func push(_ members: String, _ further: String = "") -> String {
        "upstreams: { a: { url: https://a.example/ \(further) } }\npush: { \(members) }"
    }

    private static let exchange =
        ", credentials: { kind: exchange, tokenURL: https://a.example/t, clientID: c, clientSecret: { env: WORD }, audience: x }"
    private static let oidc = "kind: oidc, clientID: c, issuer: https://a.example"
    private static let callback = "callback: https://me.example/auth/oidc/p/callback"

    /// A configuration and a part of what is said about it.
    static let refusals: [(text: String, says: String)] = [
        // Upstreams.
        ("upstreams: { a: { deadline: 1s } }", "upstreams.a.url"),
        ("upstreams: { A_b: { url: https://a.example/ } }", "An upstream's name has small letters"),
        ("upstreams: { a: { url: 'https://a.example/?q=1' } }", "without user, query and fragment"),
        ("upstreams: { a: { url: 'https://a.example/#f' } }", "without user, query and fragment"),
        ("upstreams: { a: { url: 'ftp://a.example/' } }", "without user, query and fragment"),
        (upstream("servers: [nothing]"), "Here must stand http or https addresses."),
        (upstream("networks: [nothing]"), "Here must stand networks such as 10.1.0.0/16."),
        (upstream("certificates: [nothing.pem]"), "nothing.pem cannot be read: no such file or directory."),
        (upstream("certificates: [demo.yaml]"), "demo.yaml has no certificates in PEM."),
        (upstream("credentials: { kind: basic, username: 'a:b', password: { env: WORD } }"), "has no colon"),
        (upstream("credentials: { kind: basic, password: { env: WORD } }"), "credentials.username: This is needed."),
        (upstream("credentials: { kind: basic, username: a }"), "credentials.password: This is needed."),
        (upstream("credentials: { kind: bearer, token: { env: BROKEN } }"), "visible ASCII characters only"),
        (
            upstream("credentials: { kind: apiKey, header: 'a b', value: { env: WORD } }"),
            "A header field's name has letters, digits and hyphens."
        ),
        (
            upstream("credentials: { kind: jwtBearer, tokenURL: https://a.example/t, issuer: i, key: { env: WORD } }"),
            "no key of P-256 or RSA"
        ),
        (
            upstream(
                "credentials: { kind: oauth2, tokenURL: http://a.example/t, clientID: c, clientSecret: { env: WORD } }"),
            "A token is fetched over https"
        ),
        (
            upstream(
                "credentials: { kind: oauth2, tokenURL: nowhere, clientID: c, clientSecret: { env: WORD } }"),
            "This is no http or https address."
        ),
        (upstream("credentials: { kind: portal, provider: p }"), "identity.providers has no portal of this name."),
        (
            upstream("credentials: { kind: certificate, certificate: nothing.pem, key: { env: WORD } }"),
            "nothing.pem cannot be read"
        ),
        (
            upstream("credentials: { kind: certificate, certificate: demo.yaml, key: { env: WORD } }"),
            "demo.yaml has no certificates in PEM."
        ),
        (
            upstream("credentials: { kind: none, token: { env: WORD } }"),
            "Credentials of the kind none have no key token."
        ),
        (upstream("record: r, replay: connections"), "recorded or replayed, not both"),
        (upstream("replay: nothing"), "There is no folder"),
        (upstream("chaos: { delay: 60, reset: 41 }"), "All shares together are 100 percent at most."),
        // Sign-in providers.
        ("identity: { providers: { local: { kind: portal } } }", "and is not local"),
        ("identity: { providers: { P_q: { kind: portal } } }", "a name has small letters, digits and hyphens"),
        ("identity: { providers: { p: { kind: portal, upstream: b } } }", "There is no upstream b."),
        (
            provider("kind: portal, form: in", ", credentials: { kind: bearer, token: { env: WORD } }"),
            "A sign-in provider's upstream has no credentials, or a certificate."
        ),
        (provider("kind: portal"), "identity.providers.p.form: This is needed."),
        (provider("kind: portal, form: https://b.example/in"), "This is no server of the upstream a."),
        (provider("kind: portal, form: in, roles: ['a b']"), "Here must stand the names of roles."),
        (provider("kind: portal, form: in, groups: { g: ['a b'] }"), "Here must stand the names of roles."),
        (provider(oidc), "identity.providers.p.callback: This is needed."),
        (provider("\(oidc), callback: https://me.example/elsewhere"), "The address ends in /auth/oidc/p/callback."),
        (provider("\(oidc), callback: nowhere"), "This is no http or https address."),
        (provider("kind: oidc, clientID: c, issuer: nowhere, \(callback)"), "This is no http or https address."),
        (
            provider("kind: oidc, clientID: c, issuer: https://b.example, \(callback)"),
            "This is no server of the upstream a."
        ),
        (provider("\(oidc), \(callback), scopes: [profile]"), "The scope openid is needed."),
        // Push services and traces.
        (push("apns: { topic: t, upstream: a }"), "A topic needs a key."),
        (push("apns: { topic: t, key: { env: WORD } }"), "push.apns.upstream: This is needed."),
        (push("fcm: { project: 'A B', upstream: a }"), "A project's id has small letters"),
        (push("webhook: { upstream: a }"), "What is posted has to be signed."),
        (push("webhook: { upstream: a, secret: { env: WORD } }", exchange), "is called in its callers' names"),
        ("traces: { upstream: a }", "There is no upstream a."),
        ("upstreams: { a: { url: https://a.example/ \(exchange) } }\ntraces: { upstream: a }", "spans have no caller"),
        ("\(upstream("deadline: 1s"))\ntraces: { upstream: a, ratio: 1.5 }", "A share is a number from 0 to 1."),
        // The listener and identity.
        ("http: { cors: { origins: [https://a.example/] } }", "is no origin"),
        ("http: { cors: { origins: [https://A.example] } }", "is no origin"),
        ("http: { trustedProxies: [nothing] }", "neither an address nor a network"),
        ("http: { tls: { key: k.pem } }", "http.tls.certificate and http.tls.key are needed together."),
        ("http: { tls: { certificate: no.pem, key: no.pem } }", "http.tls: "),
        ("admin: { host: 192.0.2.1, port: 0 }", "beyond the loopback interface it needs admin.tls.certificate"),
        ("identity: { session: { cookie: { name: 'a b' } } }", "A cookie's name has letters"),
        ("identity: { portalLogin: 'in/{name}' }", "A path begins with `/`"),
        ("identity: { login: { queueTimeout: 16s } }", "At most half of http.deadlines.request."),
        ("identity: { passwords: { cost: 12 } }", "less than 15 needs demo accounts, not 12."),
        ("identity: { demoAccounts: [{ name: 'a b', password: x }] }", "a valid name and a password"),
        (
            "http: { host: 0.0.0.0 }\nidentity: { demoAccounts: [{ name: a, password: x }] }",
            "listens on the loopback interface only, not at 0.0.0.0."
        ),
        ("log: { levels: { nothing: debug } }", "There is no module nothing: they are "),
        // Adapters.
        ("adapters: { employees: { upstream: b } }", "There is no upstream b."),
        ("adapters: { x: { connect: nothing.yaml } }", "nothing.yaml cannot be read: no such file or directory."),
        ("adapters: { x: { connect: connections } }", "connections cannot be read: it is a directory."),
        ("adapters: { x: { connect: '' } }", "Here must stand a path."),
        ("adapters: { X_y: { connect: connections/github-issues.yaml } }", "An adapter's name has small letters"),
        ("adapters: { chat: { connect: connections/github-issues.yaml } }", "an adapter named chat already"),
        ("adapters: { x: { connect: connections/github-issues.yaml } }", "There is no upstream github."),
        ("adapters: { x: { connect: demo.yaml } }", "demo.yaml"),
        ("adapters: { odata: { services: { s: { model: nothing.xml } } } }", "c.yaml:1:46: nothing.xml: "),
        (
            "identity: { portalLogin: /chat/v1/rooms }\nadapters: { chat: {} }",
            "Two endpoints claim POST /chat/v1/rooms: one of the gateway's sign-in and one of the adapter chat."
        ),
        ("plugins: [{ path: nothing-worker }]", "nothing-worker"),
        ("nothing: 1", "nothing"),
    ]

    @Test(arguments: refusals)
    func `what cannot work is refused with its reason`(text: String, says: String) {
        #expect(Configured.refusal(text).contains(says), "\(Configured.refusal(text))")
    }

    @Test func `a data directory whose socket's path is too long is refused`() {
        let longest = String(repeating: "a", count: 107 - "//admin.sock".utf8.count)
        #expect(Configured.refusal("{}", data: "/\(longest)") == "")
        #expect(Configured.refusal("{}", data: "/\(longest)a").contains("too long for the admin socket"))
    }

    @Test func `a command line's value is over the file's, and its mistakes are named by it`() throws {
        let plan = try Configured.plan("http: { port: 1 }", set: ["http.port=2"])
        #expect(plan.settings.port == 2)
        #expect(Configured.refusal("{}", set: ["adapters.x.connect=nothing.yaml"]).contains("adapters.x.connect"))
        #expect(Configured.refusal("{}", set: ["http.port=x"]).contains("http.port"))
    }

    @Test func `a plan has every upstream with its credentials and limits`() throws {
        let plan = try Configured.plan(
            """
            upstreams:
              none: { url: https://a.example }
              basic: { url: https://a.example/, credentials: { kind: basic, username: u, password: { env: WORD } } }
              key: { url: https://a.example/, credentials: { kind: apiKey, header: X-Key, value: { env: WORD } } }
              token: { url: https://a.example/, credentials: { kind: bearer, token: { env: WORD } } }
              client:
                url: https://a.example/
                credentials: { kind: oauth2, tokenURL: https://t.example/t, clientID: c, clientSecret: { env: WORD }, scopes: [x] }
              callers: { url: https://a.example/ \(Self.exchange) }
              limited:
                url: http://a.example/base
                servers: [https://b.example]
                networks: [10.1.0.0/16]
                deadline: 1s
                limits:
                  longDeadline: 2s
                  connect: 3s
                  firstByte: 4s
                  answer: 5KiB
                  head: 6KiB
                  connections: 7
                  queue: 8
                  redirects: 9
                  tries: 10
                  retries: 11
                  failures: 12
                  rest: 13s
                  longestRest: 14s
              replayed: { url: https://a.example/, replay: connections }
              recorded: { url: https://a.example/, record: connections, scrub: [pin] }
              disturbed: { url: https://a.example/, chaos: { seed: 3, delay: 50, fail: 50 } }
            """)
        let all = Dictionary(uniqueKeysWithValues: plan.settings.upstreams.map { ($0.key.text, $0.value) })
        #expect(all["none"]?.kind == "none" && all["none"]?.settings.url.description == "https://a.example/")
        #expect(all.filter(\.value.actsForCallers).keys.sorted() == ["callers"])
        #expect(all.filter(\.value.isRehearsed).keys.sorted() == ["disturbed", "recorded", "replayed"])
        #expect(
            all.values.map(\.kind).sorted().filter { $0 != "none" } == [
                "apiKey", "basic", "bearer", "exchange", "oauth2",
            ])
        let client = try #require(all["client"]?.settings)
        #expect(Set(client.origins.map(\.description)).count == 2)
        let limited = try #require(all["limited"]?.settings)
        #expect(limited.url.description == "http://a.example/base/" && limited.origins.count == 2)
        #expect(limited.privateNetworks.count == 1)
        let limits = limited.limits
        #expect(
            [limits.deadline, limits.longDeadline, limits.connect, limits.firstByte, limits.rest, limits.longestRest]
                == [1, 2, 3, 4, 13, 14].map { Duration.seconds($0) })
        #expect(limits.answer == 5 << 10 && limits.head == 6 << 10)
        let counts: [Int] = [
            limits.connections, limits.queue, limits.redirects, limits.tries, limits.retries, limits.failures,
        ]
        #expect(counts == [7, 8, 9, 10, 11, 12])
    }

    @Test func `sign-in providers have what is configured, and defaults for the rest`() throws {
        let plan = try Configured.plan(
            """
            upstreams:
              a: { url: https://a.example/base/, servers: [https://sso.example] }
              calls: { url: https://a.example/, credentials: { kind: portal, provider: portal } }
            identity:
              providers:
                portal:
                  kind: portal
                  upstream: a
                  form: in
                  page: https://sso.example/start
                  proof: me
                  tokenPage: token
                  userField: u
                  passwordField: p
                  extraFields: { x: "1" }
                  userAgent: Me
                  cookie: C
                  roles: [member]
                  groups: { Chiefs: [admin] }
                  requiresRole: true
                  limits: { signIns: 3, keptSignIns: 4 }
                oidc:
                  kind: oidc
                  upstream: a
                  issuer: https://a.example
                  clientID: c
                  callback: https://me.example/auth/oidc/oidc/callback
                  scopes: [openid, mail]
                  algorithms: [ES256]
                  nameClaim: n
                  groupsClaim: g
                  audience: aud
                  tokenTypes: [JWT]
                  refresh: 2h
            """)
        #expect(plan.settings.upstreams.filter(\.value.actsForCallers).keys.map(\.text) == ["calls"])
        #expect(plan.settings.providers.map(\.upstream.text) == ["a", "a"])
        guard case .openIDConnect(let oidc)? = plan.settings.providers.first?.kind,
            case .portal(let portal)? = plan.settings.providers.last?.kind
        else {
            Issue.record("\(plan.settings.providers)")
            return
        }
        #expect(oidc.scopes == ["openid", "mail"] && oidc.nameClaim == "n" && oidc.groupsClaim == "g")
        #expect(oidc.audience == "aud" && oidc.tokenTypes == ["jwt"] && oidc.refresh == .seconds(7_200))
        #expect(oidc.algorithms.count == 1 && oidc.clientSecret == nil)
        #expect(portal.form.description == "https://a.example/base/in")
        #expect(portal.page?.description == "https://sso.example/start")
        #expect(portal.proof?.target == "/base/me" && portal.tokenPage?.target == "/base/token")
        #expect(portal.userField == "u" && portal.passwordField == "p" && portal.userAgent == "Me")
        #expect(portal.extraFields.map(\.name) == ["x"] && portal.cookie == "C")
        #expect(portal.signInsAtOnce == 3 && portal.keptSignIns == 4)
        #expect(portal.roles.isRequired && portal.roles.defaultRoles.map(\.text) == ["member"])
        #expect(portal.roles.groups["Chiefs"]?.map(\.text) == ["admin"])
    }

    @Test func `push services and traces name their upstreams`() throws {
        let plan = try Configured.plan(
            """
            upstreams: { a: { url: https://a.example/ }, b: { url: https://b.example/ }, c: { url: https://c.example/x/ } }
            push:
              log: true
              limits: { tries: 2, pause: 1s, longestPause: 2s }
              apns: { topic: t, team: T, keyID: K, upstream: a, key: { env: WORD } }
              fcm: { project: p-1, upstream: b }
              webhook: { upstream: c, path: hook, secret: { env: WORD } }
            traces: { upstream: a, ratio: 1.0, queue: 5, interval: 1s }
            """)
        let push = plan.settings.push
        #expect(push.upstreams.map(\.text).sorted() == ["a", "b", "c"] && push.logs)
        #expect(push.apns?.settings.topic == "t" && push.apns?.settings.team == "T" && push.apns?.settings.keyID == "K")
        #expect(push.fcm?.project == "p-1" && push.webhook?.address.description == "https://c.example/x/hook")
        #expect(push.limits.tries == 2 && push.limits.pause == .seconds(1) && push.limits.longestPause == .seconds(2))
        #expect(plan.settings.traces != nil)
        #expect(try Configured.plan("{}").settings.traces == nil)
    }

    @Test func `every limit reaches the setting of its name`() throws {
        let counts = [
            "expansion", "fields", "depth", "values", "formFields", "page", "batch", "batchParallel", "inFlight",
            "inFlightPerCaller", "inFlightPerAdapter", "urgent", "incompletePerAddress", "queuePerCaller",
            "queuePerAdapter",
        ]
        let sizes = [
            "body", "uri", "head", "formField", "pageBytes", "batchAnswer", "filter", "answerCache", "import", "chunk",
        ]
        let text =
            "http: { limits: { " + counts.enumerated().map { "\($1): \(40 + $0)" }.joined(separator: ", ") + ", "
            + sizes.enumerated().map { "\($1): \(70 + $0)KiB" }.joined(separator: ", ") + " } }"
        let limits = try Configured.plan(text).settings.gateway.limits
        #expect(
            [
                limits.expansion, limits.fields, limits.depth, limits.values, limits.formFields, limits.page,
                limits.batch, limits.batchParallel, limits.inFlight, limits.inFlightPerCaller,
                limits.inFlightPerAdapter, limits.urgent, limits.incompletePerAddress, limits.queuePerCaller,
                limits.queuePerAdapter,
            ] == Array(40..<40 + counts.count))
        #expect(
            [
                limits.body, limits.uri, limits.head, limits.formField, limits.pageBytes, limits.batchAnswer,
                limits.filter, limits.answerCache, limits.importFile, limits.chunk,
            ] == (70..<70 + sizes.count).map { $0 << 10 })
    }

    @Test func `settings of sync, live feeds, rates and sessions reach their modules`() throws {
        let settings = try Configured.plan(
            """
            limits:
              requestsPerMinute: 11
              addressRequestsPerMinute: 12
              streamsPerPrincipal: 13
              routes: [{ path: /a, requestsPerMinute: 3 }]
              adapterStart: 1s
              adapterStartWait: 2s
              adapterRetry: 3s
              adapterStop: 4s
            sync:
              limits: { page: 21, largestPage: 22, scan: 123, regrant: 24, mutations: 25, streams: 26, uploads: 27, uploadsPerPrincipal: 28 }
              live: { heartbeat: 5s, longestPoll: 6s, page: 29 }
            live: { limits: { page: 31, replay: 132, presence: 33 }, presenceGrace: 7s }
            identity:
              basic: { enabled: true }
              session: { lifetime: 8h, idle: 1h, cookie: { name: c } }
              tokens: { accessLifetime: 5m, refreshLifetime: 1d }
              login: { backoff: 9s }
              audit: { refusalsPerHour: 41, retention: 1d }
            http: { cors: { origins: [https://a.example] }, corsMaxAge: 1m, deadlines: { request: 10s } }
            log: { level: debug, levels: { identity: trace }, memory: 1KiB, slow: 2s, format: text, access: false }
            admin: { port: 0 }
            """
        ).settings
        let gateway = settings.gateway
        #expect(gateway.limits.requestsPerMinute == 11 && gateway.limits.addressRequestsPerMinute == 12)
        #expect(gateway.limits.routes.map(\.path) == ["/a"] && gateway.limits.routes.map(\.requestsPerMinute) == [3])
        let sync = gateway.sync
        let counts: [Int] = [
            sync.pages.page, sync.pages.largestPage, sync.pages.scan, sync.pages.regrant, sync.mutations,
            sync.streams, sync.uploads, sync.uploadsPerPrincipal, sync.livePage, sync.streamsPerPrincipal,
        ]
        #expect(counts == [21, 22, 123, 24, 25, 26, 27, 28, 29, 13])
        #expect(sync.heartbeat == .seconds(5) && sync.longestPoll == .seconds(6))
        #expect(
            gateway.liveFeeds.page == 31 && gateway.liveFeeds.replay == 132 && gateway.liveFeeds.presenceListeners == 33
        )
        #expect(gateway.liveFeeds.presenceGrace == .seconds(7) && gateway.allowsBasic && gateway.preflightMaxAge == 60)
        #expect(gateway.origins == ["https://a.example"] && gateway.slowRequest == .seconds(2))
        let identity = settings.identity
        #expect(identity.sessions.lifetime == .seconds(28_800) && identity.sessions.idle == .seconds(3_600))
        #expect(identity.tokens.accessLifetime == .seconds(300) && identity.tokens.refreshLifetime == .seconds(86_400))
        #expect(identity.auditedRefusalsPerHour == 41 && identity.auditRetention == .seconds(86_400))
        #expect(identity.backoff.pair.first == .seconds(9) && identity.backoff.address.first == .seconds(9))
        // Nobody waits for a hash longer than there is time to answer.
        #expect(identity.passwords.longestWait <= .seconds(5))
        #expect(settings.adapters.start == .seconds(1) && settings.adapters.startWait == .seconds(2))
        #expect(settings.adapters.longestRetry == .seconds(3) && settings.adapters.stop == .seconds(4))
        #expect(settings.logLevel == .debug && settings.logLevels == ["identity": .trace])
        #expect(settings.logMemory == 1 << 10 && settings.logFormat == "text" && !settings.logsAccess)
        #expect(settings.adminListener?.port == 0 && settings.adminListener?.certificate == nil)
        #expect(settings.adminSocket == "/tmp/data/admin.sock")
    }

    @Test func `adapters are those that are not switched off, with the upstreams that they name`() throws {
        let plan = try Configured.plan(
            """
            upstreams: { github: { url: https://api.github.example/ }, hr: { url: https://hr.example/ } }
            adapters:
              chat: { enabled: false }
              users: { access: public }
              issues: { connect: connections/github-issues.yaml }
            """)
        let names = plan.adapters.map(\.declaration.name.text)
        #expect(!names.contains("chat") && names.contains("users") && names.contains("issues"))
        let users = try #require(plan.adapters.first { $0.declaration.name.text == "users" })
        let issues = try #require(plan.adapters.first { $0.declaration.name.text == "issues" })
        #expect(users.declaration.access == .public && users.upstreams.isEmpty)
        #expect(issues.declaration.access.write == .roles(["member"]) && issues.upstream?.text == "github")
        #expect(plan.hasWritableMirror && plan.mirrors.map(\.adapter.text) == ["issues"])
        #expect(plan.collections.contains { $0.id.adapter.text == "issues" })
        #expect(plan.upstreams(of: [:])[issues.declaration.name]?.all.isEmpty == true)
    }

    @Test func `the configuration's rights stand over the author's, of an adapter and of single entities`() throws {
        let plan = try Configured.plan(
            """
            adapters:
              users: { access: { write: { roles: [admin] } } }
              employees: { access: login, entities: { employees: { access: { write: login } } } }
            """)
        func rights(_ name: String) throws -> [Access] {
            let declaration = try #require(plan.adapters.first { $0.declaration.name.text == name }).declaration
            return declaration.entities.flatMap { [declaration.readers(of: $0), declaration.writers(of: $0)] }
        }
        #expect(try rights("users") == [.login, .roles(["admin"])])
        #expect(try rights("employees") == [.login, .login])
        #expect(
            plan.rightsWarnings == [
                "adapters.employees: every caller with a login may write employees, and no row rule says whose rows they are"
            ])
        #expect(
            Configured.refusal("adapters: { users: { entities: { people: { access: login } } } }")
                .contains("c.yaml:1:52: The adapter users has no entity people: it has users."))
    }

    @Test(arguments: [
        (
            "users: { upstream: hr, write: queued }",
            "nobody may make any: say who may, adapters.users.access: {write: …}"
        ),
        ("users: { upstream: hr, write: through, access: { write: none } }", "nobody may make any"),
        ("users: { upstream: hr, access: { write: login } }", "gets no changes, so nobody can be let write it"),
        ("users: { upstream: hr, access: { read: login, write: login } }", "gets no changes"),
        ("users: { upstream: hr, entities: { users: { access: { write: login } } } }", "gets no changes"),
        ("users: { upstream: hr, write: queued, access: { write: login } }", ""),
        ("users: { upstream: hr, write: queued, entities: { users: { access: { write: login } } } }", ""),
        ("users: { upstream: hr, access: { write: none, refresh: login } }", ""),
        ("users: { upstream: hr, access: { roles: [staff] } }", ""), ("users: { upstream: hr, access: public }", ""),
    ])
    func `a mirror's changes and the right to make them come together`(users: String, words: String) {
        let refusal = Configured.refusal(
            "upstreams: { hr: { url: https://hr.example/ } }\nadapters:\n  \(users)")
        #expect(words.isEmpty ? refusal.isEmpty : refusal.contains(words), "\(refusal)")
    }

    @Test func `loopback addresses are told from names that begin like one`() {
        for host in ["localhost", "::1", "127.0.0.1", "127.9.9.9"] { #expect(LoopbackAddress.isOne(host)) }
        for host in ["127.example", "0.0.0.0", "128.0.0.1", "localhost.example", ""] {
            #expect(!LoopbackAddress.isOne(host))
        }
    }
}
