import AdapterKit
import HostConfiguration
import Identity
import Testing

@testable import portico

/// Which changes of a configuration are made while the gateway runs, and what each of them takes.
@Suite struct ReloadPlanTests {
    private static let odata = "model: odata/reference.csdl.xml, access: public"
    private static let exchange =
        "{ kind: exchange, tokenURL: https://a.example/t, clientID: c, clientSecret: { env: WORD }, audience: x }"

    private func change(_ old: String, _ new: String) throws -> ReloadPlan {
        ReloadPlan(from: try Configured.plan(old), to: try Configured.plan(new))
    }

    @Test func `the same configuration is no change`() throws {
        let text = "http: { limits: { body: 1KiB } }"
        let plan = try change(text, text)
        #expect(plan.changes.isEmpty && plan.isPossible && plan.keepsSync)
        #expect(plan.adapters.isEmpty && plan.upstreams.isEmpty)
    }

    @Test func `limits and access reload, and another access ends live streams`() throws {
        let plan = try change("{}", "http: { limits: { body: 1KiB } }")
        #expect(plan.changes.map(\.key) == ["http.limits.body"] && plan.isPossible && plan.keepsSync)
        let access = try change("{}", "adapters: { users: { access: public } }")
        #expect(access.isPossible && !access.keepsSync && access.adapters.isEmpty)
        let sync = try change("{}", "sync: { limits: { page: 7 } }")
        #expect(sync.isPossible && !sync.keepsSync)
    }

    @Test func `adapters that decide by an access themselves are made anew with another one, and others are not`()
        throws
    {
        let service = "services: { r: { model: odata/reference.csdl.xml } }"
        let odata = try change(
            "adapters: { odata: { \(service) } }", "adapters: { odata: { access: public-read, \(service) } }")
        #expect(odata.isPossible && odata.adapters.map(\.text) == ["odata"])
        let entity = try change("{}", "adapters: { users: { entities: { users: { access: { write: login } } } } }")
        #expect(entity.isPossible && entity.adapters.isEmpty && !entity.keepsSync)
    }

    @Test func `one key that needs a restart keeps all others from being made`() throws {
        let plan = try change("{}", "http: { port: 1, limits: { body: 1KiB } }")
        #expect(!plan.isPossible)
        #expect(plan.changes.filter { $0.obstacle != nil }.map(\.key) == ["http.port"])
        #expect(try !change("{}", "limits: { adapterStop: 2s }").isPossible)
        #expect(try change("{}", "log: { level: debug, access: false }").isPossible)
    }

    @Test func `an adapter whose options change is made anew, unless its parts change`() throws {
        let before = "adapters: { odata: { services: { r: { \(Self.odata) } } } }"
        let page = try change(before, "adapters: { odata: { services: { r: { \(Self.odata), pageSize: 3 } } } }")
        #expect(page.isPossible && page.adapters.map(\.text) == ["odata"])
        let search = try change(
            before, "adapters: { odata: { services: { r: { \(Self.odata), search: [Products/Name] } } } }")
        #expect(!search.isPossible)
        let echo = try change("{}", "adapters: { chat: { echo: true } }")
        #expect(echo.isPossible && echo.adapters.map(\.text) == ["chat"])
        let members = try change("{}", "adapters: { chat: { limits: { members: 5 } } }")
        #expect(!members.isPossible)
    }

    @Test func `keys of an adapter that is not there keep nothing from being served where that is tolerated`() throws {
        let text = "adapters: { invoices: { limit: 3 } }"
        #expect(Configured.refusal(text).contains("There is no key adapters.invoices."))
        let plan = try Configured.plan(text, toleratesUnknown: true)
        #expect(plan.warnings.contains { $0.contains("adapters.invoices is not read") })
        #expect(throws: ConfigurationErrors.self) {
            try Configured.plan("adapters: { chta: { access: login } }", toleratesUnknown: true)
        }
        #expect(throws: ConfigurationErrors.self) {
            try Configured.plan("adapters: { chat: { colour: red } }", toleratesUnknown: true)
        }
    }

    @Test func `upstreams come, change and go, but not in whose name they are called`() throws {
        let one = "upstreams: { a: { url: https://a.example/ } }"
        let other = try change(one, "upstreams: { a: { url: https://b.example/ } }")
        #expect(other.isPossible && other.upstreams.map(\.text) == ["a"] && other.keepsSync)
        #expect(try change(one, "{}").isPossible)
        #expect(try change("{}", one).upstreams.map(\.text) == ["a"])
        let callers = try change(one, "upstreams: { a: { url: https://a.example/, credentials: \(Self.exchange) } }")
        #expect(!callers.isPossible)
        #expect(callers.changes.contains { $0.obstacle?.contains("in whose name") == true })
    }

    @Test func `an upstream of push services stays as it is, one of a sign-in provider makes that anew`() throws {
        func plan(_ user: String) throws -> ReloadPlan {
            try change(
                "upstreams: { a: { url: https://a.example/ } }\n\(user)",
                "upstreams: { a: { url: https://a.example/, deadline: 1s } }\n\(user)")
        }
        let push = try plan("push: { fcm: { project: p-1, upstream: a } }")
        #expect(push.changes.map(\.obstacle) == ["push services use the upstream: this needs a restart"])
        let provider = try plan("identity: { providers: { p: { kind: portal, upstream: a, form: in } } }")
        #expect(provider.isPossible && provider.providers.map(\.text) == ["p"])
    }

    @Test func `TLS neither begins nor ends while the gateway runs`() throws {
        let files = try SelfSignedFiles()
        let tls = "http: { tls: { certificate: \(files.certificate), key: \(files.key) } }"
        let begins = try change("{}", tls)
        #expect(begins.changes.allSatisfy { $0.obstacle == "beginning or ending TLS needs a restart" })
        #expect(try !change(tls, "{}").isPossible)
        let authorities = try change(
            tls,
            "http: { tls: { certificate: \(files.certificate), key: \(files.key), clientAuthorities: \(files.certificate) } }"
        )
        #expect(authorities.isPossible && authorities.changes.map(\.key) == ["http.tls.clientAuthorities"])
    }
}
