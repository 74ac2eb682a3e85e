import Foundation
import Logging
import Synchronization

/// One JSON object a line on standard error: time, level, message, and the metadata as members.
///
/// Our own handler: swift-log's stream handler writes a format that no log collector parses.
struct JSONLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let output: LogOutput

    init(level: Logger.Level, output: LogOutput) {
        logLevel = level
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "{\"time\":\"\(LogTime.now())\",\"level\":\"\(event.level.rawValue)\",\"message\":"
        line.appendJSON(event.message.description)
        let members = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            line += ","
            line.appendJSON(key)
            line += ":"
            line.appendJSON(value.description)
        }
        line += "}\n"
        output.write(line)
    }
}

/// Where log lines go, one at a time.
final class LogOutput: Sendable {
    private let file: Mutex<FileHandle>

    init(_ file: FileHandle) {
        self.file = Mutex(file)
    }

    func write(_ line: String) {
        file.withLock { try? $0.write(contentsOf: Data(line.utf8)) }
    }
}

enum LogTime {
    static func now() -> String {
        Date.now.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }
}

extension String {
    fileprivate mutating func appendJSON(_ text: String) {
        self += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\""
            case "\\": self += "\\\\"
            case "\n": self += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: unicodeScalars.append(scalar)
            }
        }
        self += "\""
    }
}
