import AdapterKit
import HTTPTypes
import ValueTree

/// The log, as operators read and change it while the gateway runs.
public protocol LogDirectory: Sendable {
    /// The newest of the lines in memory that match, the oldest of them first.
    func search(_ query: LogQuery) -> LogPage

    /// The modules with their least levels; the first is the general one.
    var levels: [LogModule] { get }

    /// nil: the general level again. False where there is no such module.
    func setLevel(_ level: LogLevel?, of module: String) -> Bool
}

/// Which lines of the log are wanted.
public struct LogQuery: Sendable {
    /// Lines after this number.
    public var after: UInt64 = 0
    /// The least level.
    public var level = LogLevel.trace
    /// An adapter's lines and its requests' lines; nil: all.
    public var adapter: String?
    /// Lines of the requests whose ids stand in this text; nil: all.
    public var request: String?
    /// Lines that were written since then; nil: all.
    public var since: WireDate?
    /// Lines that were written before then; nil: all.
    public var until: WireDate?
    /// Whether the lines of operators' own requests are wanted too.
    public var hasOperators = true
    /// Lines at most.
    public var limit = 100

    public init() {}
}

/// Lines of the log.
public struct LogPage: Sendable {
    /// Each as it is written in JSON.
    public var lines: [WireDictionary]
    /// The number of the last line there is, for ``LogQuery/after``.
    public var last: UInt64

    public init(lines: [WireDictionary], last: UInt64) {
        self.lines = lines
        self.last = last
    }
}

/// A module with the least level that it logs.
public struct LogModule: Sendable, Equatable {
    public var name: String
    public var level: LogLevel
    /// Whether it differs from the general level by its own.
    public var isOwn: Bool

    public init(name: String, level: LogLevel, isOwn: Bool) {
        self.name = name
        self.level = level
        self.isOwn = isOwn
    }
}

/// For hosts that keep no log lines.
public struct NoLog: LogDirectory {
    public init() {}

    public var levels: [LogModule] { [] }
    public func search(_ query: LogQuery) -> LogPage { LogPage(lines: [], last: 0) }
    public func setLevel(_ level: LogLevel?, of module: String) -> Bool { false }
}

/// `porticoctl logs`.
struct LogRoutes: Sendable {
    private static let mostLines: Int64 = 10_000
    private static let query = ObjectShape(
        "LogQuery",
        members: [
            Member("after", .integer), Member("limit", .integer(IntegerRange(1...mostLines)), defaultValue: 100),
            Member("level", .choice(LogLevel.allCases.map(\.rawValue))), Member("adapter", .string(maximumLength: 64)),
            Member("request", .string(maximumLength: 4_096)),
            Member("since", .double, summary: "Lines of so many seconds until now."),
            Member("from", .date, summary: "Lines since then."), Member("until", .date, summary: "Lines before then."),
            Member("operators", .bool, defaultValue: true, summary: "The lines of operators' own requests too."),
        ])
    private static let change = ObjectShape(
        "LogLevel",
        members: [
            Member("module", .string(maximumLength: 64), isRequired: true),
            Member("level", .choice(LogLevel.allCases.map(\.rawValue)), summary: "Left out: the general level."),
        ])

    let log: any LogDirectory
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .post, "/admin/v1/logs/search",
                AdministrationEndpoint(
                    "logs.search", .read, "The latest lines of the log.", input: Self.query, services: services
                ) { _, input in search(input) }),
            Route(
                .get, "/admin/v1/logs/levels",
                AdministrationEndpoint("logs.levels", .read, "What each module logs.", services: services) { _, _ in
                    shown
                }),
            Route(
                .post, "/admin/v1/logs/levels",
                AdministrationEndpoint(
                    "logs.setLevel", .change, "Sets what a module logs, until the gateway ends.", input: Self.change,
                    services: services
                ) { _, input in try setLevel(input) }),
        ]
    }

    private func search(_ input: WireDictionary) -> WireValue {
        var query = LogQuery()
        query.after = UInt64(clamping: input["after"]?.int64Value ?? 0)
        query.limit = Int(input["limit"]?.int64Value ?? 100)
        query.level = input["level"]?.stringValue.flatMap { LogLevel(rawValue: $0) } ?? .trace
        query.adapter = input["adapter"]?.stringValue
        query.request = input["request"]?.stringValue
        query.since = input["since"]?.doubleValue.map { seconds in
            WireDate(secondsSinceReferenceDate: services.clock.now().secondsSinceReferenceDate - max(0, seconds))
        }
        query.since = [query.since, input["from"]?.dateValue].compactMap(\.self).max()
        query.until = input["until"]?.dateValue
        query.hasOperators = input["operators"]?.boolValue ?? true
        let page = log.search(query)
        var codes: [ErrorCode] = []
        for code in page.lines.compactMap({ $0["code"]?.stringValue.flatMap { ErrorCode(rawValue: $0) } })
        where !codes.contains(code) { codes.append(code) }
        return [
            "lines": .array(page.lines.map { .dictionary($0) }), "last": .int64(Int64(clamping: page.last)),
            "explanations": .array(codes.map { ErrorExplanation($0).value }),
        ]
    }

    private var shown: WireValue {
        [
            "levels": .array(
                log.levels.map {
                    ["module": .string($0.name), "level": .string($0.level.rawValue), "own": .bool($0.isOwn)]
                })
        ]
    }

    private func setLevel(_ input: WireDictionary) throws(PorticoError) -> WireValue {
        guard log.setLevel(input["level"]?.stringValue.flatMap { LogLevel(rawValue: $0) }, of: input.text("module"))
        else {
            throw PorticoError(.recordNotFound, "There is no module of this name.")
        }
        return shown
    }
}

extension ErrorExplanation {
    fileprivate var value: WireValue {
        [
            "code": .string(code.rawValue), "status": .int64(Int64(status)), "meaning": .string(meaning),
            "caller": .string(caller), "operator": .string(operation),
        ]
    }
}
