import Foundation

/// Colours and bold letters where a person looks: on a terminal, unless `NO_COLOR` is set (no-color.org) or the terminal has
/// none (`TERM=dumb`).
public struct TextStyle: Sendable {
    public enum Emphasis: String, Sendable {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case yellow = "33"
    }

    private let isColoured: Bool

    public init(isTerminal: Bool, environment: [String: String]) {
        let isRefused = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        isColoured = isTerminal && !isRefused
    }

    /// Of standard output.
    public static let output = TextStyle(
        isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment)

    /// The text with the sequences of ECMA-48 (SGR) around it.
    public func callAsFunction(_ emphasis: Emphasis, _ text: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(emphasis.rawValue)m\(text)\u{1B}[0m" : text
    }
}
