import AdapterKit
import Logging
import Synchronization

/// swift-log's handler of the host: one line for each event, as JSON or text (``LogFormat``). A line has time, level,
/// message, and the metadata as members in the order of their names.
///
/// swift-log's own stream handler writes a format that no log collector parses.
struct HostLogHandler: LogHandler {
    /// That of the configuration, unless one logger has its own.
    var logLevel: Logger.Level {
        get { own ?? least.level }
        set { own = newValue }
    }
    var metadata: Logger.Metadata = [:]
    private var own: Logger.Level?
    private let least: LeastLogLevel
    private let output: LogOutput

    init(level: LeastLogLevel, output: LogOutput) {
        least = level
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let members = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        output.write(event.level, event.message.description) { line in
            for (key, value) in members {
                switch value {
                case .stringConvertible(let number as any BinaryInteger): line.add(named: key, literally: "\(number)")
                case .stringConvertible(let flag as Bool): line.add(named: key, literally: flag)
                default: line.add(named: key, value.description)
                }
            }
        }
    }
}

/// `log.level`, which may change while loggers are in use.
final class LeastLogLevel: Sendable {
    private let value: Mutex<Logger.Level>

    init(_ level: LogLevel) {
        value = Mutex(Logger.Level(level))
    }

    var level: Logger.Level { value.withLock { $0 } }

    func change(to level: LogLevel) { value.withLock { $0 = Logger.Level(level) } }
}

extension Log {
    /// Adapters' messages in the host's log, labelled with the adapter's name.
    init(_ logger: Logger, label: String) {
        self.init { message in
            let level = Logger.Level(message.level)
            guard level >= logger.logLevel else { return }
            var metadata: Logger.Metadata = ["source": .string(label)]
            for value in message.values { metadata[value.key] = value.value.metadata }
            logger.log(level: level, "\(message.text)", metadata: metadata)
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

extension LogValue {
    fileprivate var metadata: Logger.MetadataValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .stringConvertible(number)
        case .flag(let flag): .stringConvertible(flag)
        }
    }
}
