import AdapterKit
import AdapterProtocol
import Testing

@testable import WorkerHost

/// What a worker says of itself before it declares anything.
@Suite struct HelloCheckTests {
    private static func hello(
        _ name: AdapterName = "tasks", program: String = "1", options: [ConfigurationOption] = []
    ) -> HelloResponse {
        HelloResponse(version: 1, name: name, program: program, sdk: "none", options: options)
    }

    private static func option(
        _ path: String, _ kind: ConfigurationOption.ValueKind = .value(.bool), defaultValue: WireValue? = nil,
        summary: String = "Something."
    ) -> ConfigurationOption {
        ConfigurationOption(path, kind, defaultValue: defaultValue, summary: summary)
    }

    static let options: [(ConfigurationOption, String)] = [
        (option(""), "the path of an option"), (option("a..b"), "the path of an option"),
        (option(String(repeating: "a.", count: 100_000) + "a"), "the path of an option"),
        (option("a\nb"), "the path of an option"), (option("worker.sandbox"), "is the gateway's"),
        (option("enabled"), "is the gateway's"), (option("a", summary: "a\r\nb"), "control characters"),
        (option("a", defaultValue: 5), "the default of the option a is not a value of its kind"),
        (option("a", .duration, defaultValue: .double(.nan)), "not a value of its kind"),
        (option("a", .duration, defaultValue: .double(.infinity)), "not a value of its kind"),
        (option("a", .duration, defaultValue: 0), "not a value of its kind"),
        (option("a", .size, defaultValue: -1), "not a value of its kind"),
        (option("a", .secret, defaultValue: "word"), "not a value of its kind"),
        (
            option("a", .value(.string(TextLimits(minimumLength: 5, maximumLength: 3)))),
            "shortest length is above its longest"
        ),
    ]

    @Test(arguments: options.indices)
    func anOptionThatCannotBeConfiguredIsRefused(_ index: Int) throws {
        let (option, reason) = Self.options[index]
        let problem = try #require(Self.hello(options: [option]).problem, "\(reason)")
        #expect(problem.contains(reason), "\(problem)")
    }

    @Test func optionsAreFewAndDistinct() {
        #expect(
            Self.hello(options: [Self.option("a"), Self.option("a")]).problem == "two options are a")
        let many = (0..<600).map { Self.option("a\($0)") }
        #expect(Self.hello(options: many).problem == "it has more than 500 options")
        #expect(Self.hello(options: [Self.option("*.a", defaultValue: true)]).problem == nil)
    }

    @Test(arguments: ["portico", "identity", "sync", "admin", "openapi"] as [AdapterName])
    func aNameOfTheGatewaysIsRefused(_ name: AdapterName) {
        #expect(Self.hello(name).problem == "the gateway uses the name \(name) itself")
    }
}
