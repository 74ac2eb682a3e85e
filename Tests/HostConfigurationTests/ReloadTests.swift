import AdapterKit
import HostConfiguration
import Testing

private let reference = ConfigurationReference([
    ConfigurationKey("http.port", .integer(0...65_535), default: "8080", "The port.")
        .needingRestart(because: "the address is bound at the start"),
    ConfigurationKey("http.limits.body", .size, default: "8MiB", "Body."),
    ConfigurationKey("http.deadlines.head", .duration, default: "30s", "Head."),
    ConfigurationKey("adapters.feeds.*.access", .access, "Who may read a feed."),
    ConfigurationKey("upstreams.*.password", .secret(allowsPlain: true), "A secret."),
    ConfigurationKey("upstreams.*.names", .list(of: .text), "Names."),
    ConfigurationKey("accounts.*.name", .text, "A name.").needingRestart(because: "accounts are made at the start"),
])

private func resolved(_ yaml: String, secret: String = "s") throws -> ResolvedConfiguration {
    try ResolvedConfiguration.resolve(
        try YAMLDocument.read(yaml, file: "test.yaml"), reference: reference,
        secrets: SecretSource(environment: ["SECRET": secret]) { _ in "" }
    ).get()
}

private func changes(_ old: String, _ new: String) throws -> [ConfigurationChange] {
    try resolved(old).changes(to: try resolved(new), reference)
}

@Suite struct ReloadTests {
    @Test func `the same configuration has no changes, however it is written`() throws {
        #expect(try changes("http: {limits: {body: 1MiB}}", "http:\n  limits: {body: 1024KiB}").isEmpty)
        #expect(try changes("", "http: {port: 8080}").isEmpty)
    }

    @Test func `a key that reloads has no obstacle, every other one has its reason`() throws {
        let found = try changes("http: {port: 1}", "http: {port: 2, limits: {body: 1KiB}}")
        #expect(found.map(\.key) == ["http.limits.body", "http.port"])
        #expect(found[0].obstacle == nil && found[0].old == "8MiB" && found[0].new == "1KiB")
        #expect(found[1].obstacle == "needs a restart: the address is bound at the start")
        #expect(found[1].location == .file("test.yaml", line: 1, column: 14))
    }

    @Test func `what is added or left out is a change from or to nothing`() throws {
        let added = try changes("", "adapters: {feeds: {news: {access: public}}}")
        #expect(added.map(\.key) == ["adapters.feeds.news.access"])
        #expect(added[0].old == nil && added[0].new == "public")
        let removed = try changes("adapters: {feeds: {news: {access: {roles: [b, a]}}}}", "")
        #expect(removed[0].old == "{roles: [a, b]}" && removed[0].new == nil)
    }

    @Test func `a name without keys is a change too, which reloads where all that may stand below does`() throws {
        let feed = try changes("", "adapters: {feeds: {news: {}}}")
        #expect(feed.map(\.key) == ["adapters.feeds.news"])
        #expect(feed[0].obstacle == nil && feed[0].old == nil && feed[0].new == "{}")
        #expect(try changes("accounts: {ada: {}}", "")[0].obstacle != nil)
    }

    @Test func `another secret is a change that shows neither`() throws {
        let yaml = "upstreams: {hr: {password: {env: SECRET}}}"
        let found = try resolved(yaml, secret: "one").changes(to: try resolved(yaml, secret: "other"), reference)
        #expect(found.map(\.key) == ["upstreams.hr.password"])
        #expect(!"\(found)".contains("one") && !"\(found)".contains("other"))
    }

    @Test(
        arguments: [
            (.text("a"), "a"), (.integer(-1), "-1"), (.flag(true), "true"), (.number(0.5), "0.5"),
            (.duration(.milliseconds(250)), "250ms"), (.duration(.seconds(90)), "90s"),
            (.duration(.seconds(7_200)), "2h"), (.duration(.seconds(86_400 * 30)), "30d"), (.size(512), "512"),
            (.size(64 << 10), "64KiB"), (.size(0), "0"), (.access(.publicRead), "public-read"),
            (.access(.login), "login"),
            (.access(AccessRights(read: .login, write: .roles(["a", "b"]))), "{read: login, write: {roles: [a, b]}}"),
            (.secret(Secret("x")), "<secret>"),
            (.list([.text("a"), .text("b")]), "[a, b]"),
            (.mapping(["b": .integer(1), "a": .secret(Secret("x"))]), "{a: <secret>, b: 1}"),
        ] as [(ConfigurationValue, String)])
    func `a value is shown as one would write it, without secrets`(value: ConfigurationValue, written: String) {
        #expect(value.written == written)
    }

    @Test func `settings are listed by key with their places`() throws {
        let all = try resolved("http: {port: 1}").all
        #expect(all.map(\.key) == ["http.deadlines.head", "http.limits.body", "http.port"])
        #expect(all[0].setting.location == nil && all[2].setting.location != nil)
    }
}
