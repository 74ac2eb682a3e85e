import AdapterKit
import Logging
import Telemetry

/// swift-log's handler of the host: one line for each event, as JSON or text (``LogFormat``). A line has time, level,
/// message, and the metadata as members in the order of their names. Within a request these are its id and its trace, too.
///
/// swift-log's own stream handler writes a format that no log collector parses.
struct HostLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    private let output: LogOutput
    private let levels: LogLevels
    private let module: LogLevels.Module

    /// `label` is the module's name.
    init(_ label: String, levels: LogLevels, output: LogOutput) {
        self.output = output
        self.levels = levels
        module = levels.module(label)
    }

    /// ``LogLevels`` has the levels: they are changed for all loggers of a module at once.
    var logLevel: Logger.Level {
        get { Logger.Level(LogLevel.allCases.first { module.isEnabled($0) } ?? .critical) }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var members = metadata.merging(event.metadata ?? [:]) { $1 }
        if let context = CallContext.current {
            members["requestId"] = members["requestId"] ?? .string(context.requestID)
            if let trace = context.traceParent.flatMap({ TraceParent($0) }) {
                members["traceId"] = .string(trace.trace)
            }
        }
        output.write(event.level, event.message.description) { line in
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                switch value {
                case .stringConvertible(let number as any BinaryInteger): line.add(named: key, literally: "\(number)")
                case .stringConvertible(let flag as Bool): line.add(named: key, literally: flag)
                default: line.add(named: key, value.description)
                }
            }
        }
    }

    fileprivate func level(of label: String) -> LogLevels.Module { levels.module(label) }
}

extension Log {
    /// Adapters' messages in the host's log, labelled with the adapter's name, which is their module.
    init(_ logger: Logger, label: String) {
        self.init(Self.sink(logger, label: label))
    }

    /// As ``init(_:label:)``, for messages that come from an adapter's program.
    static func sink(_ logger: Logger, label: String) -> Sink {
        let module = (logger.handler as? HostLogHandler)?.level(of: label)
        return { message in
            let level = Logger.Level(message.level)
            guard module?.isEnabled(message.level) ?? (level >= logger.logLevel) else { return }
            var metadata: Logger.Metadata = ["source": .string(label)]
            for value in message.values { metadata[value.key] = value.value.metadata }
            logger.handler.log(
                event: LogEvent(
                    level: level, message: "\(message.text)", metadata: metadata, source: label, file: #fileID,
                    function: #function, line: #line))
        }
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }
}

extension LogLevel {
    init(_ level: Logger.Level) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }
}

extension LogValue {
    fileprivate var metadata: Logger.MetadataValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .stringConvertible(number)
        case .flag(let flag): .stringConvertible(flag)
        }
    }
}
