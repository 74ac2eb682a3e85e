extension MirrorSource {
    /// The keys that ``init(_:_:reading:isWritable:)`` reads, for ``AdapterModule/options``.
    public static let options = [
        ConfigurationOption(
            "upstream", .upstream, changesRecords: true,
            summary: "The system that has the truth of the records. Without it they are local."),
        ConfigurationOption(
            "mode", .choice(["mirror"]), defaultValue: "mirror", changesRecords: true,
            summary: "How it is used: its rows are fetched and kept as records."),
        ConfigurationOption("freshFor", .duration, summary: "Up to this age a read asks for no refresh: 5m."),
        ConfigurationOption("staleFor", .duration, summary: "Beyond this age nothing is served over HTTP: 7d."),
        ConfigurationOption("waitFor", .duration, summary: "How long a read waits for a refresh: 2s."),
        ConfigurationOption(
            "refresh", .duration,
            summary: "How long after a refresh the next one begins by itself; without it none does."),
        ConfigurationOption(
            "write", .choice(Writing.allCases.map(\.rawValue)), changesRecords: true,
            summary: "How callers' changes reach the system: at once, later, or not at all (none)."),
        ConfigurationOption(
            "idempotencyKeys", .bool, changesRecords: true,
            summary: "Whether the system makes a change once however often it gets its Idempotency-Key: false."),
        ConfigurationOption(
            "guard.share", .double, summary: "A refresh that changes a larger share of the records is held back: 0.5."),
        ConfigurationOption(
            "guard.from", .integer(IntegerRange(0...Int64(Int32.max))),
            summary: "From how many records on refreshes are held back: 20."),
        ConfigurationOption(
            "callers.count", .integer(IntegerRange(1...100_000)), changesRecords: true,
            summary: "With credentials in callers' names: sign-ins whose rows are kept: 1000."),
        ConfigurationOption(
            "callers.rows", .integer(IntegerRange(1...Int64(MirrorSettings.Callers.mostRows))), changesRecords: true,
            summary: "With credentials in callers' names: rows of one caller: 2500."),
    ]

    /// The mirror that `adapters.{name}.upstream` and the keys beside it ask for; nil: the adapter is local.
    ///
    /// The keys are `freshFor`, `staleFor`, `waitFor` and `refresh` in seconds, `guard.share` and `guard.from`, `write` and
    /// `idempotencyKeys`. `isWritable`: the adapter has ``Adapter/writeMirror(_:)`` for the entity; without it `write` is
    /// refused. `keys`: further keys of the adapter that say how the upstream is asked. Throws ``ConfigurationProblem``, also
    /// for keys that have no effect because there is no `upstream`.
    public init?(
        _ entity: EntityName, _ configuration: AdapterConfiguration, reading: Reading = .snapshot,
        isWritable: Bool = false, supportsRowsOfCallers: Bool = false, derivedEntity: EntityName? = nil,
        keys: [String] = []
    ) throws {
        guard configuration["mode"]?.stringValue != CallThrough.mode else { return nil }
        guard let upstream = try configuration.upstream else {
            for key in Self.keysOfUpstreams + keys where configuration[key] != nil {
                throw ConfigurationProblem(key, "This has no effect: `upstream` names no system.")
            }
            return nil
        }
        let writing = configuration["write"]?.stringValue.flatMap(Writing.init(rawValue:)) ?? .none
        guard writing == .none || isWritable else {
            throw ConfigurationProblem("write", "These records can only be read from the system, not changed there.")
        }
        self.init(
            entity, of: upstream, reading: reading, writing: writing,
            honoursIdempotencyKeys: configuration["idempotencyKeys"]?.boolValue ?? false,
            supportsRowsOfCallers: supportsRowsOfCallers, derivedEntity: derivedEntity,
            settings: try MirrorSettings(configuration))
    }

    /// The names of ``options``, without those that have a default.
    private static let keysOfUpstreams = [
        "freshFor", "staleFor", "waitFor", "refresh", "write", "idempotencyKeys", "guard", "callers",
    ]
}

extension CallThrough {
    fileprivate static let mode = "call"

    /// The keys that ``init(_:)`` and ``MirrorSource/init(_:_:reading:)`` read, for the ``AdapterModule/options`` of adapters
    /// that know both.
    public static let options =
        MirrorSource.options.filter { $0.path != "mode" } + [
            ConfigurationOption(
                "mode", .choice(["mirror", mode]), defaultValue: "mirror", changesRecords: true,
                summary:
                    "How it is used: `mirror` fetches its rows and keeps them as records, `call` asks it each time."),
            ConfigurationOption(
                "answers.entries", .integer(IntegerRange(1...1_000_000)),
                summary: "`mode: call`: answers that are kept: 10000."),
            ConfigurationOption(
                "answers.bytes", .size, summary: "`mode: call`: bytes that kept answers have at most: 16MiB."),
        ]

    /// The settings of `mode: call`; nil: another mode, or a local adapter.
    ///
    /// The keys are `upstream`, `freshFor`, `staleFor` and `waitFor` in seconds, `answers.entries` and `answers.bytes`.
    /// Throws ``ConfigurationProblem``, also for keys that say how records are refreshed: there are none.
    public init?(_ configuration: AdapterConfiguration) throws {
        guard configuration["mode"]?.stringValue == Self.mode else { return nil }
        guard let upstream = try configuration.upstream else {
            throw ConfigurationProblem("mode", "There is nothing to call: `upstream` names no system.")
        }
        for key in ["refresh", "guard", "callers", "write", "idempotencyKeys"] where configuration[key] != nil {
            throw ConfigurationProblem(key, "With `mode: call` no records are kept, so this has no effect.")
        }
        self.init(to: upstream)
        freshFor = try configuration.seconds("freshFor") ?? freshFor
        staleFor = try configuration.seconds("staleFor") ?? staleFor
        waitFor = try configuration.seconds("waitFor") ?? waitFor
        keptAnswers = configuration["answers", "entries"]?.int64Value.map(Int.init(clamping:)) ?? keptAnswers
        keptBytes = configuration["answers", "bytes"]?.int64Value.map(Int.init(clamping:)) ?? keptBytes
        try configuration.checkAges(freshFor, staleFor)
    }
}

extension MirrorSettings {
    fileprivate init(_ configuration: AdapterConfiguration) throws {
        self.init()
        freshFor = try configuration.seconds("freshFor") ?? freshFor
        staleFor = try configuration.seconds("staleFor") ?? staleFor
        waitFor = try configuration.seconds("waitFor") ?? waitFor
        refresh = try configuration.seconds("refresh")
        if let share = configuration["guard", "share"]?.doubleValue {
            guard (0...1).contains(share) else {
                throw ConfigurationProblem("guard.share", "A share is from 0 to 1.")
            }
            `guard`.share = share
        }
        if let from = configuration["guard", "from"]?.int64Value {
            guard from >= 0 else { throw ConfigurationProblem("guard.from", "A number of records is not negative.") }
            `guard`.from = Int(clamping: from)
        }
        if let count = configuration["callers", "count"]?.int64Value { callers.count = Int(clamping: max(1, count)) }
        if let rows = configuration["callers", "rows"]?.int64Value {
            callers.rows = Int(clamping: min(max(1, rows), Int64(Callers.mostRows)))
        }
        try configuration.checkAges(freshFor, staleFor)
    }
}

extension AdapterConfiguration {
    /// Ten years, far below where durations end.
    private static let longest = 315_360_000.0

    fileprivate var upstream: UpstreamName? {
        get throws {
            guard let text = self["upstream"]?.stringValue else { return nil }
            guard let upstream = UpstreamName(text) else {
                throw ConfigurationProblem("upstream", "This cannot be the name of an upstream.")
            }
            return upstream
        }
    }

    fileprivate func checkAges(_ freshFor: Duration, _ staleFor: Duration) throws {
        guard freshFor <= staleFor else {
            throw ConfigurationProblem("staleFor", "What is fresh cannot be too old: `freshFor` is longer.")
        }
    }

    fileprivate func seconds(_ key: String) throws -> Duration? {
        guard let value = self[key] else { return nil }
        guard let seconds = value.doubleValue, seconds > 0, seconds <= Self.longest else {
            throw ConfigurationProblem(key, "This cannot be a duration.")
        }
        return .seconds(seconds)
    }
}
