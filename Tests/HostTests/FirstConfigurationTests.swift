import AdapterKit
import BuiltInAdapters
import Testing

@testable import Host

/// `portico init` without its questions.
@Suite struct FirstConfigurationTests {
    @Test(
        arguments: [[], ["chat", "feeds"], ["odata", "users"], FirstConfiguration(BuiltInAdapters.all).known]
            as [[AdapterName]])
    func `what is written serves the adapters that were named and no others`(adapters: [AdapterName]) throws {
        var first = FirstConfiguration(BuiltInAdapters.all)
        first.adapters = adapters
        let plan = try Configured.plan(first.text)
        #expect(Set(plan.adapters.map(\.declaration.name)) == Set(adapters))
        #expect(plan.settings.host == "127.0.0.1" && plan.settings.port == 8080)
        #expect(plan.warnings == [])
    }

    @Test(arguments: ["0.0.0.0", "::", "gateway.example"])
    func `an address that other machines reach is written with a warning of the check`(host: String) throws {
        var first = FirstConfiguration(BuiltInAdapters.all)
        (first.host, first.port) = (host, 0)
        let plan = try Configured.plan(first.text)
        #expect(plan.settings.host == host && plan.settings.port == 0)
        #expect(plan.warnings.count == 1 && plan.warnings[0].contains("http.tls.certificate"))
    }

    @Test(
        arguments: [
            ("chat,feeds", ["chat", "feeds"]), ("feeds, feeds", ["feeds"]), ("none", []), ("", []),
            ("odata users", ["odata", "users"]),
        ] as [(String, [AdapterName])])
    func `adapters are named with commas between them`(text: String, names: [AdapterName]) throws {
        #expect(try FirstConfiguration(BuiltInAdapters.all).adapters(named: text) == names)
    }

    @Test func `a password that is made up has letters and digits that look alike nowhere`() {
        var random = SystemRandomNumberGenerator()
        let one = MadePassword.next(from: &random).reveal()
        #expect(one.count == 24 && one.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber) })
        #expect(one != MadePassword.next().reveal())
        #expect(!one.contains { "l1o0".contains($0) })
    }
}
