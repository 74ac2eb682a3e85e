import AdapterKit
import HostConfiguration
import Identity

/// The configuration reference: the host's own keys, and those of the adapters that it knows.
enum HostReference {
    /// `tolerating`: the adapters that have keys, where those that nothing takes are to keep nothing from being served; nil: each
    /// is an error.
    static func reference(
        for modules: [ConfigurableAdapter], tolerating written: Set<String>? = nil
    ) -> ConfigurationReference {
        let adapters = modules.flatMap { module in
            adapterKeys(module)
        }
        return ConfigurationReference(
            http + limits + sync + live + log + traces + store + [plugins] + identity + ProviderReference.keys
                + UpstreamReference.keys + PushReference.keys + backups + admin + packages + adapters,
            removed: UpstreamReference.removed,
            unread: (written.map { toleratedNames(modules, written: $0) } ?? [:]).merging(
                modules.filter { $0.absence != nil }.map {
                    (
                        ["adapters", $0.name.text],
                        UnreadNames(because: "the adapter's program is left out, which would take it or not")
                    )
                }, uniquingKeysWith: { $1 }),
            whereNamed: Set(modules.filter(\.needsName).map(\.path)))
    }

    /// Of what is not there nothing is served that such a key would restrict. One of the gateway's own that is misspelt may do
    /// that, and the name of an adapter that is: unless that adapter has keys itself, and was installed, as others are to be.
    private static func toleratedNames(
        _ modules: [ConfigurableAdapter], written: Set<String>
    ) -> [[String]: UnreadNames] {
        let names = Set(modules.map(\.name.text))
        let installed = modules.filter { $0.program?.isInstalled ?? false }.map(\.name.text)
        let own: Set<String> = ["enabled", "access", "worker"]
        let options = installed.map {
            (
                ["adapters", $0],
                UnreadNames(known: own, similar: own, because: "this version of it has no such option")
            )
        }
        return Dictionary(options, uniquingKeysWith: { $1 }).merging(
            [
                ["adapters"]: UnreadNames(
                    known: names, similar: names.subtracting(written.intersection(installed)),
                    because: "there is no adapter of this name")
            ], uniquingKeysWith: { $1 })
    }

    private static let backups = [
        ConfigurationKey(
            "backups.target.folder", .text,
            "A folder of another disk or machine, which is there: full copies and the log of committed pages go there."
        ).namingFiles(from: .configuration),
        ConfigurationKey(
            "backups.target.s3.upstream", .text,
            "Instead of a folder: the upstream whose `url` is an S3 service, or one that speaks its protocol. It has no `credentials`."
        ),
        ConfigurationKey("backups.target.s3.bucket", .text, "The bucket, which is there."),
        ConfigurationKey("backups.target.s3.region", .text, default: "us-east-1", "The bucket's region."),
        ConfigurationKey(
            "backups.target.s3.prefix", .text, default: "",
            "What the names of all objects begin with, such as `portico`."),
        ConfigurationKey("backups.target.s3.accessKey", .secret(allowsPlain: false), "The access key's id."),
        ConfigurationKey("backups.target.s3.secretKey", .secret(allowsPlain: false), "The secret access key."),
        ConfigurationKey(
            "backups.schedule", .text, default: "1d",
            "When a full copy is made: so long after the one before (`12h`, `1d`), or at a time of the day in UTC (`03:30`)."
        ),
        ConfigurationKey(
            "backups.keep", .integer(1...1_000), default: "7",
            "Full copies that are kept. A copy counts once it was restored and checked."),
        ConfigurationKey(
            "backups.interval", .duration, default: "3s",
            "How often what was committed is written to the target: with the time that takes, the most that is lost."),
        ConfigurationKey(
            "backups.waiting", .size, default: "1GiB",
            "Committed pages that wait in the data directory while the target takes nothing; beyond it they are dropped, and a full copy is made once it does."
        ),
    ].map { $0.needingRestart(because: "the copies follow the store from its opening") }

    private static let admin = [
        ConfigurationKey(
            "admin.host", .text, default: "127.0.0.1",
            "The address of the admin listener; beyond loopback it needs `admin.tls`."
        ).needingRestart(because: bound),
        ConfigurationKey(
            "admin.port", .integer(0...65_535),
            "The port of the admin listener; 0 takes a free one. Left out: there is the admin socket alone."
        ).needingRestart(because: bound),
        ConfigurationKey(
            "admin.names", .list(of: .text), default: "[]",
            "Hosts that the admin listener answers for beside `127.0.0.1`, `localhost`, `[::1]` and `admin.host`, such as `ops.example.org`; every other host is 421."
        ),
        ConfigurationKey(
            "admin.roles.viewer", .list(of: .text), default: "[]",
            "Roles of accounts that sign in at the console and look at everything but rows of callers."),
        ConfigurationKey(
            "admin.roles.operator", .list(of: .text), default: "[]",
            "Roles of accounts that sign in at the console and change what runs."),
        ConfigurationKey(
            "admin.roles.admin", .list(of: .text), default: "[]",
            "Roles of accounts that sign in at the console and do everything. Accounts of `identity.demoAccounts` never sign in there."
        ),
        ConfigurationKey(
            "admin.tls.certificate", .text, default: "",
            "The admin listener's certificate and those up to its root (PEM), relative to the data directory."
        ).namingFiles(from: .data),
        ConfigurationKey("admin.tls.key", .text, default: "", "Its private key (PEM).").namingFiles(from: .data),
        ConfigurationKey(
            "admin.tls.clientAuthorities", .text, default: "",
            "Who vouches for operators' certificates (PEM); nothing: operators need tokens."
        ).namingFiles(from: .data),
        ConfigurationKey(
            "admin.certificateRole", .choice(AdminRole.allCases.map(\.rawValue)), default: "admin",
            "What an operator with such a certificate may do."),
        ConfigurationKey(
            "admin.bodyDeadline", .duration, default: "10m",
            "How long the body of an operator's request may take to arrive, at the admin socket too."),
    ]

    private static let packages = [
        PackageSettings.trustedKeysKey,
        ConfigurationKey(
            "packages.probation", .duration, default: "60s",
            "How long after an upgrade a crash of the adapter's program leads back to the version before."),
    ]

    private static let http = [
        ConfigurationKey("http.host", .text, default: "127.0.0.1", "The address to listen at.")
            .needingRestart(because: bound),
        ConfigurationKey("http.port", .integer(0...65_535), default: "8080", "The port; 0 takes a free one.")
            .needingRestart(because: bound),
        ConfigurationKey(
            "http.tls.certificate", .text, default: "",
            "The certificate and those up to its root (PEM), relative to the data directory; nothing: no TLS."
        ).namingFiles(from: .data),
        ConfigurationKey("http.tls.key", .text, default: "", "Its private key (PEM).").namingFiles(from: .data),
        ConfigurationKey(
            "http.tls.clientAuthorities", .text, default: "",
            "Who vouches for callers' certificates (PEM); nothing: none is asked for."
        ).namingFiles(from: .data),
        ConfigurationKey(
            "http.trustedProxies", .list(of: .text), default: "[]",
            "Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, such as `10.0.0.0/8`."
        ),
        ConfigurationKey(
            "http.publicURL", .text, default: "",
            "Where callers reach the gateway, such as `https://api.example.org`: the server that `/openapi.json` names; nothing: the one that was asked."
        ),
        ConfigurationKey("http.cors.origins", .list(of: .text), default: "[]", "Origins that browsers may call from."),
        ConfigurationKey("http.corsMaxAge", .duration, default: "10m", "How long a browser keeps a preflight."),
        ConfigurationKey("http.deadlines.head", .duration, default: "30s", "Idle time and time for a request's head."),
        ConfigurationKey("http.deadlines.request", .duration, default: "30s", "From the head to the answer."),
        ConfigurationKey(
            "http.deadlines.write", .duration, default: "30s",
            "How long a caller may take nothing of an answer, and the span its least rate is counted over."),
        ConfigurationKey(
            "http.deadlines.halfClosed", .duration, default: "5s",
            "How long a streamed answer may bring nothing to a caller that has closed its side of the connection; then it is ended."
        ),
        ConfigurationKey("http.deadlines.stop", .duration, default: "20s", "How long a stop waits for requests.")
            .needingRestart(because: "what a stop ends is set up with it at the start"),
    ]

    private static let limits = [
        ConfigurationKey(
            "http.limits.connections", .integer(1...1_000_000), default: "20000",
            "Open connections; more are answered 503."),
        ConfigurationKey(
            "http.limits.connectionsPerAddress", .integer(0...1_000_000), default: "0",
            "Open connections of one address (a /64 in IPv6) that is no trusted proxy; more are answered 503. 0: half of all."
        ),
        ConfigurationKey(
            "http.limits.writeRate", .size, default: "1KiB", "Bytes a second that a caller takes of an answer at least."
        ),
        ConfigurationKey(
            "http.limits.readRate", .size, default: "512", "Bytes a second that a request's body comes with at least."),
        ConfigurationKey("http.limits.body", .size, default: "8MiB", "A request's body, inflated too."),
        ConfigurationKey(
            "http.limits.expansion", .integer(1...10_000), default: "100", "How many times a body may inflate."),
        ConfigurationKey("http.limits.uri", .size, default: "8KiB", "Path and query."),
        ConfigurationKey("http.limits.head", .size, default: "32KiB", "All header fields."),
        ConfigurationKey("http.limits.fields", .integer(10...1_000), default: "100", "How many header fields."),
        ConfigurationKey("http.limits.depth", .integer(1...512), default: "128", "Nesting in a body."),
        ConfigurationKey("http.limits.values", .integer(1...100_000_000), default: "1000000", "Values in a body."),
        ConfigurationKey("http.limits.formFields", .integer(1...10_000), default: "1000", "Fields of a form."),
        ConfigurationKey(
            "http.limits.formField", .size, default: "1MiB", "One field of a form, name and value as they are sent."),
        ConfigurationKey("http.limits.page", .integer(1...10_000), default: "1000", "Records of a page."),
        ConfigurationKey(
            "http.limits.pageBytes", .size, default: "8MiB",
            "The records of a page, about; a page ends early there, but has one record at least."),
        ConfigurationKey("http.limits.batch", .integer(1...1_000), default: "100", "Calls in a batch."),
        ConfigurationKey("http.limits.batchParallel", .integer(1...100), default: "8", "Calls of a batch at once."),
        ConfigurationKey(
            "http.limits.batchAnswer", .size, default: "32MiB", "The bodies that a batch's calls answer, together."),
        ConfigurationKey("http.limits.filter", .size, default: "4KiB", "A filter expression."),
        ConfigurationKey("http.limits.answerCache", .size, default: "24MiB", "Answers kept in memory."),
        ConfigurationKey("http.limits.import", .size, default: "64MiB", "A file that an operator loads."),
        ConfigurationKey("http.limits.chunk", .size, default: "64KiB", "Larger answers are sent in such pieces."),
        ConfigurationKey("http.limits.inFlight", .integer(1...100_000), default: "1024", "Requests under way at once."),
        ConfigurationKey(
            "http.limits.inFlightPerCaller", .integer(1...100_000), default: "256",
            "Requests of one caller to adapters under way at once."),
        ConfigurationKey(
            "http.limits.inFlightPerAdapter", .integer(1...100_000), default: "768",
            "Requests to one adapter under way at once."),
        ConfigurationKey(
            "http.limits.urgent", .integer(0...100_000), default: "64",
            "Requests beyond `inFlight` for what is cheap and urgent: refreshing and ending a sign-in."),
        ConfigurationKey(
            "http.limits.incompletePerAddress", .integer(0...100_000), default: "0",
            "Requests of one address (a /64 in IPv6) whose bodies are incomplete; 0: a quarter of `inFlight`."),
        ConfigurationKey(
            "http.limits.queuePerCaller", .integer(0...10_000), default: "512",
            "Requests of one caller that wait for a place at most."),
        ConfigurationKey(
            "http.limits.queuePerAdapter", .integer(0...10_000), default: "1024",
            "Requests to one adapter that wait for a place at most."),
        ConfigurationKey(
            "limits.routes", .list(of: .mapping(routeKeys)), default: "[]",
            "Requests of one account, or of one address without one, to a path and what is below it."),
        ConfigurationKey(
            "limits.requestsPerMinute", .integer(0...10_000_000), default: "0",
            "Requests of one account, or of one address without one; 0: any number."),
        ConfigurationKey(
            "limits.addressRequestsPerMinute", .integer(0...10_000_000), default: "0",
            "Requests from one address by all callers; 0: any number."),
        ConfigurationKey(
            "limits.adapterStart", .duration, default: "60s",
            "How long an adapter may take to start; then it has failed, and the start is cancelled."),
        ConfigurationKey(
            "limits.adapterStartWait", .duration, default: "10s",
            "How long the gateway waits for adapters that start before it is ready without them."
        ).needingRestart(because: "it counts at the start alone"),
        ConfigurationKey(
            "limits.adapterRetry", .duration, default: "60s",
            "The longest wait before a failed adapter is started again; the first is a second, each twice the last."),
        ConfigurationKey(
            "limits.adapterStop", .duration, default: "5s",
            "How long an adapter may take to stop; then it is left behind."),
    ]

    private static let sync = [
        ConfigurationKey(
            "sync.offlineWindow", .duration, default: "30d", "How long a device may stay away without starting over."),
        ConfigurationKey("sync.limits.page", .integer(1...10_000), default: "1000", "Operations of a page."),
        ConfigurationKey(
            "sync.limits.largestPage", .integer(1...10_000), default: "10000", "The same where a device asks for more."),
        ConfigurationKey(
            "sync.limits.pageBytes", .size, default: "8MiB",
            "The records of a page, about; a page ends early there, but has one record at least."),
        ConfigurationKey(
            "sync.limits.scan", .integer(100...1_000_000), default: "20000", "Log entries looked at for one page."),
        ConfigurationKey(
            "sync.limits.regrant", .integer(1...9_999), default: "2000",
            "Rows that a group's new members get at once; with more the scope is sent again."),
        ConfigurationKey("sync.limits.mutations", .integer(1...100_000), default: "1000", "Mutations of a push."),
        ConfigurationKey(
            "sync.limits.streams", .integer(1...1_000_000), default: "20000", "Live streams open at once."),
        ConfigurationKey("sync.limits.attachment", .size, default: "256MiB", "An attachment."),
        ConfigurationKey(
            "sync.limits.attachments", .size, default: "64GiB", "All attachments together, uploads under way too."),
        ConfigurationKey(
            "sync.limits.uploads", .integer(1...1_000_000), default: "10000", "Uploads of attachments under way."),
        ConfigurationKey(
            "sync.limits.uploadsPerPrincipal", .integer(1...1_000_000), default: "32",
            "Those of one account; the one that was left for longest gives way to the next."),
        ConfigurationKey(
            "sync.limits.unnamedPerPrincipal", .size, default: "8GiB",
            "Bytes that one account has uploaded, in part or whole, and no record names yet."),
        ConfigurationKey(
            "sync.attachments.window", .duration, default: "7d",
            "How long an attachment stays that no record names, and an upload that is not continued."),
        ConfigurationKey(
            "sync.keptCopies", .duration, default: "90d",
            "How long what lost a conflict or was rejected is kept for operators."),
        ConfigurationKey("sync.live.heartbeat", .duration, default: "25s", "The longest silence on a live stream."),
        ConfigurationKey("sync.live.longestPoll", .duration, default: "25s", "The longest wait of a long poll."),
        ConfigurationKey("sync.live.page", .integer(1...10_000), default: "200", "Operations of a live event."),
        ConfigurationKey(
            "limits.streamsPerPrincipal", .integer(1...1_000_000), default: "32",
            "Live streams and long polls of one account at once."),
    ]

    private static let live = [
        ConfigurationKey(
            "live.limits.page", .integer(10...10_000), default: "500",
            "Log entries that a stream of an adapter's looks at for one piece."),
        ConfigurationKey("live.limits.piece", .size, default: "256KiB", "Bytes after which such a piece ends."),
        ConfigurationKey(
            "live.limits.replay", .integer(100...10_000_000), default: "20000",
            "Operations that such a stream may have missed; with more its client starts over."),
        ConfigurationKey(
            "live.limits.presence", .integer(0...1_000_000), default: "200",
            "Listeners of a group; beyond this no presence events are sent."),
        ConfigurationKey(
            "live.presenceGrace", .duration, default: "5s", "How long an account is offline before others are notified."
        ),
    ]

    private static let log = [
        ConfigurationKey(
            "log.level", .choice(LogLevel.allCases.map(\.rawValue)), default: "info", "The least level logged."),
        ConfigurationKey(
            "log.format", .choice([LogFormat.automatic] + LogFormat.allCases.map(\.rawValue)),
            default: LogFormat.automatic,
            "`text`: lines for people; `json`: an object a line, for collectors; `auto`: text on a terminal."),
        ConfigurationKey("log.access", .flag, default: "true", "Whether every request is logged."),
        ConfigurationKey(
            "log.levels.*", .choice(LogLevel.allCases.map(\.rawValue)),
            "The least level of one module: `portico`, `requests`, `identity`, `upstream`, `push`, `traces`, `backups` or an adapter's name."
        ),
        ConfigurationKey(
            "log.memory", .size, default: "4MiB",
            "The latest lines, which `porticoctl logs` shows, stay in memory; 0: none do."),
        ConfigurationKey(
            "log.slow", .duration, default: "1s",
            "A request that takes as long has a line with the time of its steps."),
    ]

    private static let traces = [
        ConfigurationKey(
            "traces.upstream", .text,
            "The upstream that takes spans, as OTLP in JSON below its address at `v1/traces`; left out: none are recorded."
        ),
        ConfigurationKey(
            "traces.ratio", .number, default: "0.01",
            "The share of traces that begin here which are recorded, from 0 to 1."),
        ConfigurationKey(
            "traces.followCallers", .flag, default: "true",
            "Whether a caller that names a trace (`traceparent`) decides whether it is recorded; else the ratio does."),
        ConfigurationKey(
            "traces.queue", .integer(1...1_000_000), default: "4096",
            "Spans that wait to be sent; further ones are dropped and counted."),
        ConfigurationKey(
            "traces.interval", .duration, default: "2s", "How often spans are sent."),
    ]

    private static let store = [
        ConfigurationKey("store.kind", .choice(["sqlite"]), default: "sqlite", "The database."),
        storePath,
        ConfigurationKey(
            "store.longReads", .integer(0...64), default: "0",
            "Searches through much at once, with a connection and a thread each, at least two; one caller has all but one at most. 0: one for each processor."
        ),
        ConfigurationKey(
            "store.longReadTurn", .duration, default: "10s",
            "How long such a search goes on while another caller without one waits; then it is answered 503."),
        ConfigurationKey(
            "store.streams", .integer(1...256), default: "8",
            "Long answers that are read while they are sent, at once, with a connection and a thread each."),
        ConfigurationKey(
            "store.probe", .duration, default: "2s",
            "How often the gateway looks whether the store's files are in their places, and whether writes succeed again."
        ),
        ConfigurationKey(
            "store.sampleData", .flag, default: "false", "Whether empty adapters get their sample records."),
    ].map { $0.needingRestart(because: "the store is opened with it") }

    /// Why the address of a listener needs a restart.
    private static let bound = "the address is bound at the start"

    static let storePath = ConfigurationKey(
        "store.path", .text, default: "portico.sqlite", "The database file, in the data directory."
    ).namingFiles(from: .data)

    static let plugins = ConfigurationKey(
        "plugins", .list(of: .mapping(pluginKeys)), default: "[]", "Adapters of other teams, each a program of its own."
    )

    private static let identity = [
        ConfigurationKey(
            "identity.session.cookie.name", .text, default: "portico_session", "The session cookie's name."),
        ConfigurationKey("identity.session.lifetime", .duration, default: "8h", "From sign-in to the cookie's end."),
        ConfigurationKey("identity.session.idle", .duration, default: "8h", "From the cookie's last use to its end."),
        ConfigurationKey("identity.tokens.accessLifetime", .duration, default: "15m", "An access token's life."),
        ConfigurationKey("identity.tokens.refreshLifetime", .duration, default: "30d", "A refresh token's life."),
        ConfigurationKey("identity.basic.enabled", .flag, default: "false", "Whether HTTP Basic is taken."),
        ConfigurationKey(
            "identity.portalLogin", .text, default: "/irj/portal",
            "The path at which the sign-in form of SAP's portals is taken; empty: none."),
        ConfigurationKey(
            "identity.audit.retention", .duration, "How long audit entries are kept; left out: for ever."),
        ConfigurationKey(
            "identity.audit.refusalsPerHour", .integer(1...1_000_000), default: "600",
            "Refused sign-ins with an audit entry of their own; of further ones the number is written, once a minute."),
        ConfigurationKey(
            "identity.login.backoff", .duration, default: "1s",
            "The first wait after too many failed sign-ins; it doubles."),
        ConfigurationKey(
            "identity.login.queueTimeout", .duration, default: "5s",
            "How long a sign-in may wait for its turn; who would wait longer is refused at once. At most half of `http.deadlines.request`."
        ),
        ConfigurationKey(
            "identity.passwords.cost",
            .integer(ScryptParameters.leastLogRounds...ScryptParameters.recommended.logRounds), default: "15",
            "The cost of a new password hash, as the base-2 logarithm of scrypt's N. Less than 15 is for tests: it needs "
                + "demo accounts."
        ).needingRestart(because: "a name without an account is compared with a hash that is made at the start"),
        ConfigurationKey(
            "identity.demoAccounts", .list(of: .mapping(accountKeys)), default: "[]",
            "Accounts made at the first start, for trying out; they forbid listening beyond loopback."
        ).needingRestart(because: "the accounts are made at the start"),
    ]

    private static let routeKeys = [
        ConfigurationKey("path", .text, isRequired: true, "The path, such as `/auth/login`."),
        ConfigurationKey("requestsPerMinute", .integer(1...10_000_000), isRequired: true, "Requests in a minute."),
    ]

    private static let accountKeys = [
        ConfigurationKey("name", .text, isRequired: true, "The account's name."),
        ConfigurationKey("password", .secret(allowsPlain: true), isRequired: true, "Its password."),
        ConfigurationKey("roles", .list(of: .text), "Its roles."),
    ]

    private static let pluginKeys = [
        ConfigurationKey(
            "path", .text, isRequired: true,
            "The adapter's program: a name in the plugin folder, or a path relative to the configuration file.")
    ]

    /// Of the adapters that have any name.
    static let connected = ConfigurationKey(
        "adapters.*.\(ConfigurableAdapter.connect.path)", ConfigurableAdapter.connect.kind,
        ConfigurableAdapter.connect.summary
    ).namingFiles(from: .configuration)

    /// The feeds' adapter decides by it itself, with the accesses of single feeds.
    private static func access(_ name: AdapterName) -> [ConfigurationKey] {
        [
            ConfigurationKey(
                "adapters.\(name).access", .access,
                "Who may read and write, and who may ask for a refresh (docs/identity.md)."
            ),
            ConfigurationKey(
                "adapters.\(name).entities.*.access", .access, "Who may read and write the records of one entity."
            ),
        ]
    }

    private static func adapterKeys(_ module: ConfigurableAdapter) -> [ConfigurationKey] {
        let name = module.name
        let enabled = ConfigurationKey(
            "adapters.\(name).enabled", .flag, default: "true",
            module.needsName ? "Whether it is served; without any key of its name it is not." : "Whether it is served.")
        return [enabled]
            + access(name) + (module.program == nil ? [] : WorkerSettings.keys(of: name.text))
            + module.options.map {
                let key = ConfigurationKey(
                    "adapters.\(name).\($0.path)", $0.kind, default: $0.defaultText,
                    $0.summary + ($0.changesRecords ? " Another value changes what is stored or mirrored." : ""))
                return $0.valueKind == .file ? key.namingFiles(from: .configuration) : key
            }
    }
}
