import AdapterKit
import HostConfiguration
import Identity
import Testing

@testable import Host

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
        let access = try change("adapters: { users: {} }", "adapters: { users: { access: public } }")
        #expect(access.isPossible && !access.keepsSync && access.adapters == ["users"])
        let sync = try change("{}", "sync: { limits: { page: 7 } }")
        #expect(sync.isPossible && !sync.keepsSync)
    }

    @Test func `another access makes another generation, whose parts go on`() throws {
        let service = "services: { r: { model: odata/reference.csdl.xml } }"
        let odata = try change(
            "adapters: { odata: { \(service) } }", "adapters: { odata: { access: public-read, \(service) } }")
        #expect(odata.isPossible && odata.adapters == ["odata"] && odata.membership.isEmpty)
        let entity = try change(
            "adapters: { users: {} }", "adapters: { users: { entities: { users: { access: { write: login } } } } }")
        #expect(entity.isPossible && entity.adapters == ["users"] && !entity.keepsSync)
        #expect(entity.membership.isEmpty)
    }

    @Test func `an adapter that is compiled in comes with its name, if only with that, and goes with it`() throws {
        for named in ["{}", "", "{ access: login }", "{ enabled: true }"] {
            let text = "adapters: { users: \(named) }"
            let plan = try change("{}", text)
            #expect(plan.isPossible && plan.adapters == ["users"] && plan.membership.added == ["users"], "\(text)")
            #expect(plan.changes.first?.key == "adapters.users", "\(text)")
            #expect(try change(text, "{}").membership.removed == ["users"], "\(text)")
            #expect(try Configured.plan(text).unnamed == ["chat", "employees", "feeds", "odata", "odata-reference"])
        }
        #expect(try change("{}", "adapters: { users: { enabled: false } }").membership.isEmpty)
    }

    @Test func `one key that needs a restart keeps all others from being made`() throws {
        let plan = try change("{}", "http: { port: 1, limits: { body: 1KiB } }")
        #expect(!plan.isPossible)
        #expect(plan.changes.filter { $0.obstacle != nil }.map(\.key) == ["http.port"])
        #expect(try !change("{}", "limits: { adapterStartWait: 2s }").isPossible)
        #expect(try change("{}", "limits: { adapterStop: 2s }").isPossible)
        #expect(try change("{}", "log: { level: debug, access: false }").isPossible)
    }

    @Test func `another option makes another generation, whatever it changes of what is stored`() throws {
        let before = "adapters: { odata: { services: { r: { \(Self.odata) } } } }"
        let page = try change(before, "adapters: { odata: { services: { r: { \(Self.odata), pageSize: 3 } } } }")
        #expect(page.isPossible && page.adapters == ["odata"] && page.membership.isEmpty)
        let search = try change(
            before, "adapters: { odata: { services: { r: { \(Self.odata), search: [Products/Name] } } } }")
        #expect(search.isPossible && search.adapters == ["odata"] && search.membership.redeclared == ["odata"])
        let echo = try change("adapters: { chat: {} }", "adapters: { chat: { echo: true } }")
        #expect(echo.isPossible && echo.adapters == ["chat"])
        let members = try change(
            "adapters: { chat: {} }", "adapters: { chat: { limits: { members: 5 } } }")
        #expect(members.isPossible && members.adapters == ["chat"] && members.membership.redeclared == ["chat"])
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

    @Test func `an upstream of push services or of a sign-in provider makes them anew`() throws {
        func plan(_ user: String) throws -> ReloadPlan {
            try change(
                "upstreams: { a: { url: https://a.example/ } }\n\(user)",
                "upstreams: { a: { url: https://a.example/, deadline: 1s } }\n\(user)")
        }
        let push = try plan("push: { fcm: { project: p-1, upstream: a } }")
        #expect(push.isPossible && push.renewsPush)
        #expect(try !plan("push: { log: true }").renewsPush)
        #expect(try change("{}", "push: { log: true }").renewsPush)
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
