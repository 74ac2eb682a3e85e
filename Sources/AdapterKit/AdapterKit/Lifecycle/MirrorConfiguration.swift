extension MirrorSource {
    /// The keys that ``init(_:_:reading:)`` reads, for ``AdapterModule/options``.
    public static let options = [
        ConfigurationOption(
            "upstream", .upstream, summary: "The system that has the truth of the records. Without it they are local."),
        ConfigurationOption("freshFor", .duration, summary: "Up to this age a read asks for no refresh: 5m."),
        ConfigurationOption("staleFor", .duration, summary: "Beyond this age nothing is served over HTTP: 7d."),
        ConfigurationOption("waitFor", .duration, summary: "How long a read waits for a refresh: 2s."),
        ConfigurationOption(
            "refresh", .duration,
            summary: "How long after a refresh the next one begins by itself; without it none does."),
        ConfigurationOption(
            "guard.share", .double, summary: "A refresh that changes a larger share of the records is held back: 0.5."),
        ConfigurationOption(
            "guard.from", .integer(IntegerRange(0...Int64(Int32.max))),
            summary: "From how many records on refreshes are held back: 20."),
    ]

    /// The mirror that `adapters.{name}.upstream` and the keys beside it ask for; nil: the adapter is local.
    ///
    /// The keys are `freshFor`, `staleFor`, `waitFor` and `refresh` in seconds, and `guard.share` and `guard.from`. Throws
    /// ``ConfigurationProblem``.
    public init?(
        _ entity: EntityName, _ configuration: AdapterConfiguration, reading: Reading = .snapshot
    ) throws {
        guard let text = configuration["upstream"]?.stringValue else { return nil }
        guard let upstream = UpstreamName(text) else {
            throw ConfigurationProblem("upstream", "This cannot be the name of an upstream.")
        }
        self.init(entity, of: upstream, reading: reading, settings: try MirrorSettings(configuration))
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
        guard freshFor <= staleFor else {
            throw ConfigurationProblem("staleFor", "Rows that are fresh cannot be too old: `freshFor` is longer.")
        }
    }
}

extension AdapterConfiguration {
    /// Ten years, far below where durations end.
    private static let longest = 315_360_000.0

    fileprivate func seconds(_ key: String) throws -> Duration? {
        guard let value = self[key] else { return nil }
        guard let seconds = value.doubleValue, seconds > 0, seconds <= Self.longest else {
            throw ConfigurationProblem(key, "This cannot be a duration.")
        }
        return .seconds(seconds)
    }
}
