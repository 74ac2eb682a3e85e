import AdapterKit
import HostConfiguration
import Testing

/// What a configuration names is closed to programs: nothing of it may be overlooked.
@Suite struct NamedPathTests {
    private static let reference = ConfigurationReference([
        ConfigurationKey("http.tls.key", .text, "A key.").namingFiles(from: .data),
        ConfigurationKey("upstreams.*.certificates", .list(of: .text), "Certificates.").namingFiles(
            from: .configuration),
        ConfigurationKey("upstreams.*.key", .secret(allowsPlain: true), "A key, or where it is.").namingFiles(
            from: .configuration),
        ConfigurationKey("push.secret", .secret(allowsPlain: false), "A secret."),
        ConfigurationKey(
            "accounts", .list(of: .mapping([ConfigurationKey("password", .secret(allowsPlain: false), "A secret.")])),
            "Accounts."),
        ConfigurationKey("adapters.feeds.source.file", .text, "A file that programs may read."),
        ConfigurationKey("log.level", .text, "No path."),
    ])

    private func named(
        _ yaml: String, environment: [String: String] = [:], overrides: [String] = []
    ) throws -> Set<String> {
        let found = NamedPath.all(
            in: try YAMLDocument.read(yaml, file: "/etc/portico.yaml"), reference: Self.reference,
            environment: environment, overrides: overrides,
            secrets: SecretSource(environment: ["KEY": "by-variable.pem", "PEM": "-----BEGIN KEY-----"]) { _ in
                "by-file.pem\n"
            })
        #expect(Set(found).count == found.count)
        return Set(found.map { "\($0.key) \($0.base) \($0.path)" })
    }

    private static let own = "the configuration workingDirectory /etc/portico.yaml"

    @Test(
        arguments: [
            ("log: {level: info}", []),
            ("http: {tls: {key: key.pem}}", ["http.tls.key data key.pem"]),
            (
                "upstreams: {a: {certificates: [x, y]}}",
                ["upstreams.a.certificates configuration x", "upstreams.a.certificates configuration y"]
            ),
            ("push: {secret: {file: /run/secret}}", ["push.secret configuration /run/secret"]),
            ("push: {secret: {env: KEY}}", []),
            (
                "accounts: [{password: {file: one}}, {password: {file: two}}]",
                ["accounts.password configuration one", "accounts.password configuration two"]
            ),
            // A secret may be a path itself, wherever it stands.
            ("upstreams: {a: {key: key.pem}}", ["upstreams.a.key configuration key.pem"]),
            ("upstreams: {a: {key: {env: KEY}}}", ["upstreams.a.key configuration by-variable.pem"]),
            ("upstreams: {a: {key: {env: PEM}}}", []),
            (
                "upstreams: {a: {key: {file: f}}}",
                ["upstreams.a.key configuration f", "upstreams.a.key configuration by-file.pem"]
            ),
            // Of an adapter that has not said what its keys are.
            ("adapters: {tasks: {password: {file: p}}}", ["adapters.tasks.password configuration p"]),
            ("adapters: {feeds: {source: {file: f}}}", []),
        ] as [(String, [String])])
    func `every path of a configuration is found`(yaml: String, paths: [String]) throws {
        #expect(try named(yaml) == Set(paths + [Self.own]))
    }

    @Test func `paths of the environment and of the command line are found, and those that they override stay`() throws
    {
        let found = try named(
            "http: {tls: {key: one}}", environment: ["PORTICO_HTTP_TLS_KEY": "two", "PORTICO_OF_A_PLUGIN": "x"],
            overrides: ["http.tls.key=three", "without a value", "upstreams.a.certificates=[four]"])
        #expect(
            found == [
                Self.own, "http.tls.key data one", "http.tls.key data two", "http.tls.key data three",
                "upstreams.a.certificates configuration four",
            ])
    }
}
