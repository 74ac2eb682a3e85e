import Foundation

/// How a log line is written: as JSON for collectors, as text for people.
enum LogForm: String, CaseIterable, Sendable {
    case json, text

    /// `log.format` that leaves the choice to where the log goes.
    static let automatic = "auto"

    /// ``automatic`` is text on a terminal and JSON everywhere else.
    init(_ configured: String, for file: FileHandle) {
        self = LogForm(rawValue: configured) ?? (isatty(file.fileDescriptor) == 1 ? .text : .json)
    }
}
