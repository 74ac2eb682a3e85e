/// A configuration as written, every part with its place.
public struct ConfigurationNode: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        case null
        case scalar(String)
        case list([ConfigurationNode])
        case mapping([Entry])
    }

    public struct Entry: Sendable, Equatable {
        public let key: String
        public let keyLocation: ConfigurationLocation
        public var value: ConfigurationNode
    }

    public var content: Content
    public let location: ConfigurationLocation
    /// Whether a scalar stands without quotes, so that `12` may be meant as a number.
    public let isPlain: Bool

    public init(_ content: Content, at location: ConfigurationLocation, isPlain: Bool = false) {
        self.content = content
        self.location = location
        self.isPlain = isPlain
    }
}

/// The source of a configured value: a file, the environment or the command line.
public enum ConfigurationLocation: Sendable, Equatable, CustomStringConvertible {
    /// Line and column from 1.
    case file(String, line: Int, column: Int)
    case environment(String)
    case commandLine(String)

    public var description: String {
        switch self {
        case .file(let path, let line, let column): "\(path):\(line):\(column)"
        case .environment(let name): "environment variable \(name)"
        case .commandLine(let text): "--set \(text)"
        }
    }
}

/// Something wrong with a configuration, and where.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    public let location: ConfigurationLocation
    public let message: String

    public init(_ message: String, at location: ConfigurationLocation) {
        self.message = message
        self.location = location
    }

    /// On one line, without characters that move a terminal's cursor: a configuration's texts stand in it.
    public var description: String { "\(location): \(message)".showingControls }
}

extension String {
    /// Control characters, line ends and marks of direction as `\u{1b}`.
    fileprivate var showingControls: String {
        func isShown(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        guard !unicodeScalars.allSatisfy(isShown) else { return self }
        var shown = ""
        for scalar in unicodeScalars {
            if isShown(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return shown
    }
}
