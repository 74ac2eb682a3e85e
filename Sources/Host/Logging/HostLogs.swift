import AdapterKit
import Gateway
import Telemetry
import ValueTree
import WireFormats

/// The log of this process for `porticoctl logs`: the lines in memory, and the levels of its modules.
struct HostLogs: LogDirectory {
    let output: LogOutput
    let levelsOfModules: LogLevels

    /// The general level goes by this name.
    static let general = "default"
    /// The host's own modules; an adapter's is its name.
    static let ownModules: Set<String> = [
        "portico", LogLevels.requests, "identity", "upstream", "push", "traces", "backups",
    ]

    var levels: [LogModule] {
        [LogModule(name: Self.general, level: levelsOfModules.general, isOwn: true)]
            + levelsOfModules.all.map { LogModule(name: $0.name, level: $0.level, isOwn: $0.isOwn) }
    }

    func setLevel(_ level: LogLevel?, of module: String) -> Bool {
        guard module == Self.general else { return levelsOfModules.set(level, of: module) }
        guard let level else { return false }
        levelsOfModules.setGeneral(level)
        return true
    }

    /// Lines that are copied at once, at the least.
    private static let copied = 256

    /// Goes back from the newest line, copying a few at a time: parsing them does not hold up those who log.
    func search(_ query: LogQuery) -> LogPage {
        var found: [WireDictionary] = []
        var (last, next): (UInt64?, UInt64) = (nil, .max)
        while found.count < query.limit {
            let (lines, newest) = output.rememberedLines(
                after: query.after, before: next, level: query.level, limit: max(query.limit, Self.copied))
            // Lines that come meanwhile are for the next search.
            last = last ?? newest
            guard let oldest = lines.first else { break }
            next = oldest.number
            for line in lines.reversed() where found.count < query.limit {
                guard let members = try? JSONFormat().read(line.bytes).dictionaryValue, query.matches(members) else {
                    continue
                }
                found.append(members)
            }
        }
        return LogPage(lines: found.reversed(), last: last ?? 0)
    }
}

extension LogQuery {
    /// Where operators ask.
    private static let operatorPaths = ["/admin/v1/", "/console/"]

    /// Of a line's members; its level is known before they are read.
    fileprivate func matches(_ line: WireDictionary) -> Bool {
        if since != nil || until != nil, let time = line["time"]?.stringValue.flatMap({ WireDate(rfc3339: $0) }) {
            if let since, time < since { return false }
            if let until, until <= time { return false }
        }
        if !hasOperators, let path = line["path"]?.stringValue, Self.operatorPaths.contains(where: path.hasPrefix) {
            return false
        }
        if let adapter {
            let isOwn = line["source"]?.stringValue == adapter
            guard isOwn || line["endpoint"]?.stringValue?.hasPrefix("\(adapter).") ?? false else { return false }
        }
        guard let request else { return true }
        return line["requestId"]?.stringValue.map { request.names($0) } ?? false
    }
}

extension String {
    /// Whether a request's id stands in the text as a word. The calls of a batch have its id, a full stop and a number:
    /// their lines belong to the batch's id.
    fileprivate func names(_ id: String) -> Bool {
        let words = split { !$0.isASCII || !($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") }
            .map { $0.hasSuffix(".") ? $0.dropLast() : $0 }
        return words.contains { $0 == id || id.hasPrefix("\($0).") && $0.contains("-") }
    }
}
