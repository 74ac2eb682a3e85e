import AdapterKit
import Logging

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
