import AdapterKit
import HostConfiguration
import NearestNames
import Testing

private let reference = ConfigurationReference([
    ConfigurationKey("http.port", .integer(0...65_535), default: "8080", "The port."),
    ConfigurationKey("http.corsMaxAge", .duration, default: "10m", "How long a preflight is kept."),
    ConfigurationKey("http.cors.origins", .list(of: .text), "Origins."),
    ConfigurationKey("http.limits.body", .size, default: "8MiB", "Body."),
    ConfigurationKey("share", .number, default: "0.5", "A share."),
    ConfigurationKey("adapters.*.access", .access, "Who may call."),
    ConfigurationKey("adapters.feeds.*.access", .access, "Who may read a feed."),
    ConfigurationKey("identity.pepper", .secret(allowsPlain: false), "A secret."),
])

private func resolve(
    _ yaml: String, by reference: ConfigurationReference = reference, environment: [String: String] = [:],
    overrides: [String] = []
) throws -> Result<ResolvedConfiguration, ConfigurationErrors> {
    ResolvedConfiguration.resolve(
        try YAMLDocument.read(yaml, file: "test.yaml"), reference: reference, environment: environment,
        overrides: overrides,
        secrets: SecretSource(environment: ["PEPPER": "p"]) { _ in "from a file\n" })
}

@Suite struct ResolutionTests {
    @Test func `what is not configured has its default`() throws {
        let resolved = try resolve("").get()
        #expect(resolved["http.port"]?.integer == 8080)
        #expect(resolved["http.limits.body"]?.size == 8 << 20)
        #expect(resolved["http.cors.origins"] == nil)
    }

    @Test func `a secret's file is looked for beside the configuration, and named in full`() throws {
        let reference = ConfigurationReference([ConfigurationKey("secret", .secret(allowsPlain: false), "A secret.")])
        func resolve(_ path: String) throws -> Result<ResolvedConfiguration, ConfigurationErrors> {
            ResolvedConfiguration.resolve(
                try YAMLDocument.read("secret: {file: \(path)}", file: "/etc/portico.yaml"), reference: reference,
                environment: [:], overrides: [],
                secrets: SecretSource(environment: [:], directory: "/etc") { path throws(NoFile) in
                    guard path == "/etc/one" else { throw NoFile() }
                    return "kept"
                })
        }
        for path in ["one", "/etc/one"] { #expect(try resolve(path).get()["secret"]?.secret?.reveal() == "kept") }
        let errors = #expect(throws: ConfigurationErrors.self) { try resolve("two").get() }
        #expect(errors?.description.contains("The file /etc/two cannot be read") == true)
    }

    private struct NoFile: Error {}

    @Test func `a default that is not of its kind is an error with the key's name`() throws {
        let wrong = ConfigurationReference([
            ConfigurationKey("adapters.notes.limit", .integer(1...10), default: "many", "Of a plugin."),
            ConfigurationKey("adapters.notes.mode", .choice(["a"]), default: "a", "Of a plugin."),
        ])
        let resolved = ResolvedConfiguration.resolve(
            try YAMLDocument.read("", file: "test.yaml"), reference: wrong, environment: [:], overrides: [],
            secrets: SecretSource(environment: [:]) { _ in "" })
        let errors = #expect(throws: ConfigurationErrors.self) { try resolved.get() }
        #expect(errors?.description.contains("The default of adapters.notes.limit is not of its kind.") == true)
        #expect(errors?.description.contains("adapters.notes.mode") == false)
    }

    @Test func `keys below a path whose owner does not say what it takes are left unread, wherever they stand`() throws
    {
        let reference = ConfigurationReference(
            [ConfigurationKey("adapters.tasks.enabled", .flag, default: "true", "Whether it is served.")],
            unread: [["adapters", "tasks"]: UnreadNames(because: "its program does not answer")])
        let found = try resolve(
            "adapters: {tasks: {enabled: false, size: 3, deep: {a: {env: NOWHERE}}}}", by: reference,
            environment: ["PORTICO_ADAPTERS_TASKS_COLOUR": "red"], overrides: ["adapters.tasks.more.still=1"]
        ).get()
        #expect(found["adapters.tasks.enabled"]?.flag == false)
        #expect(found.settings(below: "adapters.tasks").count == 1)
        for key in ["size", "deep", "colour", "more.still"] {
            #expect(
                found.warnings.contains {
                    $0.message == "The key adapters.tasks.\(key) is not read: its program does not answer."
                }, "\(key)")
        }
        #expect(found.warnings.count == 4)
        for (yaml, environment) in [
            ("adapters: {notes: {size: 3}}", [:]), ("adapters: 3", [:]),
            ("", ["PORTICO_ADAPTERS_NOTES_SIZE": "3"]), ("", ["PORTICO_ADAPTERS_TASKS_": "3"]),
        ] as [(String, [String: String])] {
            #expect(throws: ConfigurationErrors.self) {
                try resolve(yaml, by: reference, environment: environment).get()
            }
        }
    }

    @Test func `a name that is tolerated is left unread, unless it is known or looks like one that is`() throws {
        let own: Set = ["access", "worker"]
        let reference = ConfigurationReference(
            ["adapters.tasks.access", "adapters.tasks.worker.memory", "adapters.tasks.limit"].map {
                ConfigurationKey($0, .text, "A text.")
            },
            unread: [
                ["adapters"]: UnreadNames(known: ["tasks"], similar: ["tasks"], because: "there is none"),
                ["adapters", "tasks"]: UnreadNames(known: own, similar: own, because: "it has none"),
            ])
        let found = try resolve(
            "adapters: {invoices: {size: 3}, letters: , tasks: {limits: {a: 1}}}", by: reference,
            environment: ["PORTICO_ADAPTERS_TASKS_COLOUR": "red"],
            overrides: ["adapters.orders.access=login", "adapters.tasks.limit.a=1"]
        ).get()
        #expect(
            found.unread.map { $0.path.joined(separator: ".") } == [
                "adapters.invoices", "adapters.letters", "adapters.tasks.limits", "adapters.tasks.colour",
                "adapters.orders.access", "adapters.tasks.limit.a",
            ])
        #expect(found.warnings == found.unread.map(\.warning))
        for (yaml, environment) in [
            ("adapters: {task: {access: login}}", [:]), ("adapters: {tasks: {acces: login}}", [:]),
            ("adapters: {tasks: {worker: {momery: 3}}}", [:]), ("invoices: 3", [:]),
            ("", ["PORTICO_ADAPTERS_INVOICES_SIZE": "3"]), ("", ["PORTICO_ADAPTERS_TASKS_ACESS": "login"]),
        ] as [(String, [String: String])] {
            #expect(throws: ConfigurationErrors.self) {
                try resolve(yaml, by: reference, environment: environment).get()
            }
        }
    }

    @Test func `the environment lies over the file, and the command line over both`() throws {
        let yaml = "http: {port: 1, corsMaxAge: 1s}\nadapters: {users: {access: login}}"
        let resolved = try resolve(
            yaml,
            environment: [
                "PORTICO_HTTP_CORS_MAX_AGE": "5m", "PORTICO_HTTP_PORT": "2",
                "PORTICO_ADAPTERS_FEEDS_NEWS_ACCESS": "public",
                "HOME": "/",
            ],
            overrides: ["http.port=3", "http.cors.origins=[https://a.example, https://b.example]"]
        ).get()
        #expect(resolved["http.port"]?.integer == 3)
        #expect(resolved["http.corsMaxAge"]?.duration == .seconds(300))
        #expect(resolved["adapters.feeds.news.access"]?.access == .public)
        #expect(resolved["adapters.users.access"]?.access == .login)
        #expect(
            resolved["http.cors.origins"]?.list == [.text("https://a.example"), .text("https://b.example")])
    }

    @Test func `what Kubernetes sets for a service is left aside and reported`() throws {
        let resolved = try resolve("", environment: ["PORTICO_HTTP_PORT": "tcp://10.0.0.1:80", "HOME": "/"]).get()
        #expect(resolved["http.port"]?.integer == 8080)
        #expect(resolved.warnings.map(\.location) == [.environment("PORTICO_HTTP_PORT")])
    }

    @Test func `an unknown key is an error with its location and a suggestion`() throws {
        let errors = try #require(throws: ConfigurationErrors.self) { try resolve("http:\n  prot: 1\nlgo: 2").get() }
        #expect(
            errors.errors.map(\.description) == [
                "test.yaml:2:3: There is no key http.prot. Did you mean http.port?",
                "test.yaml:3:1: There is no key lgo.",
            ])
    }

    @Test func `a key that stands at the wrong place leads to the right one, and so does a variable`() throws {
        func message(_ yaml: String, _ environment: [String: String] = [:]) throws -> String? {
            try #require(throws: ConfigurationErrors.self) { try resolve(yaml, environment: environment).get() }
                .errors.first?.message
        }
        #expect(try message("port: 80") == "There is no key port. Did you mean http.port?")
        #expect(try message("adapters: {port: {a: 1}}") != "There is no key adapters.port. Did you mean http.port?")
        #expect(
            try message("", ["PORTICO_HTTP_PROT": "80"])
                == "No configuration key has this name. Did you mean PORTICO_HTTP_PORT?")
        #expect(try message("", ["PORTICO_HTTPPROXY_X": "80"]) == "No configuration key has this name.")
    }

    @Test func `variables of the programs themselves are no keys`() throws {
        let resolved = try resolve("", environment: ["PORTICO_DATA": "/srv", "PORTICO_URL": "https://a.example"]).get()
        #expect(resolved.warnings.isEmpty)
    }

    @Test(
        arguments: [
            ("prot", ["host", "port"], "port"), ("post", ["host", "port"], "host"), ("ab", ["ba"], "ba"),
            ("quite-another", ["host"], nil), ("Port", ["port"], "port"), ("x", [], nil),
        ] as [(String, [String], String?)])
    func `the nearest name takes the fewest mistakes, two letters that changed places are one`(
        wrong: String, known: [String], nearest: String?
    ) {
        #expect(NearestName.of(wrong, among: known) == nearest)
    }

    @Test(arguments: [
        ("http: {port: {file: /etc/port}}", "A key that names a file takes its path as it is: /etc/port."),
        ("http: {corsMaxAge: {env: AGE}}", "Only secrets are taken from the environment like that"),
    ])
    func `what is written as a secret is, where none belongs, is explained`(yaml: String, message: String) throws {
        let errors = try #require(throws: ConfigurationErrors.self) { try resolve(yaml).get() }
        #expect(errors.description.contains(message), "\(errors)")
    }

    @Test(arguments: [
        ("http: {port: many}", "a whole number from 0 to 65535"),
        ("http: {corsMaxAge: 5}", "a duration above zero such as"),
        ("http: {corsMaxAge: 0s}", "a duration above zero"), ("http: {corsMaxAge: 0ms}", "a duration above zero"),
        ("http: {limits: {body: 1MB}}", "a size such as"), ("adapters: {users: {access: all}}", "public-read"),
        ("adapters: {users: {access: {read: everybody}}}", "none, public, login or {roles: [names]}"),
        ("adapters: {users: {access: {write: {roles: []}}}}", "none, public, login or {roles: [names]}"),
        ("adapters: {users: {access: {reads: login}}}", "There is no right reads: they are read, write, refresh"),
        ("adapters: {users: {access: {roles: [a], write: login}}}", "public-read"),
        ("share: half", "a number such as 0.5"), ("share: nan", "a number such as 0.5"),
        ("share: 1e999", "a number such as 0.5"), ("http: 5", "http is a mapping"),
        ("identity: {pepper: plain}", "{env: NAME} or {file: PATH}"),
        ("identity: {pepper: {env: NONE}}", "NONE is not set"),
    ])
    func `a value of the wrong kind is an error that says what belongs there`(yaml: String, message: String) throws {
        let errors = try #require(throws: ConfigurationErrors.self) { try resolve(yaml).get() }
        #expect(errors.description.contains(message))
    }

    @Test func `broken YAML is reported with its location`() throws {
        let error = try #require(throws: ConfigurationError.self) { try resolve("a: [1\nb: 2").get() }
        #expect(error.description.hasPrefix("test.yaml:2"))
    }

    @Test(arguments: [
        ("a: 1\nb:\n  a: 2\na: 3", "test.yaml:4:1: The key a stands here a second time."),
        ("h:\n  port: 1\n  # port: 5\n  x: 0\n  'port' : 2", "test.yaml:5:3: The key port stands here a second time."),
        ("h: {port: 1, port: 2}", "test.yaml:1:5: The key port stands here a second time."),
    ])
    func `a key that stands twice is reported where it stands again`(yaml: String, message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try resolve(yaml).get() }
        #expect(error.description == message)
    }

    @Test func `a secret comes from the environment or a file and is never printed`() throws {
        let fromEnvironment = try resolve("identity: {pepper: {env: PEPPER}}").get()["identity.pepper"]?.secret
        #expect(fromEnvironment?.reveal() == "p")
        #expect("\(String(describing: fromEnvironment))".contains("p\"") == false)
        #expect(
            try resolve("identity: {pepper: {file: f}}").get()["identity.pepper"]?.secret?.reveal() == "from a file")
    }

    @Test func `a variable that begins like ours and names no key is an error`() throws {
        #expect(throws: ConfigurationErrors.self) { try resolve("", environment: ["PORTICO_HTTP_PROT": "1"]).get() }
    }

    @Test func `roles are read`() throws {
        let resolved = try resolve("adapters: {users: {access: {roles: [admin, editor]}}}").get()
        #expect(resolved["adapters.users.access"]?.access == .roles(["admin", "editor"]))
    }

    @Test func `an access says who reads, who writes and who asks for a refresh, each for itself`() throws {
        let text = "adapters: {users: {access: {read: public, write: {roles: [admin]}, refresh: none}}}"
        let access = try #require(resolve(text).get()["adapters.users.access"]?.access)
        #expect(access == AccessRights(read: .public, write: .roles(["admin"]), refresh: .nobody))
    }
}
