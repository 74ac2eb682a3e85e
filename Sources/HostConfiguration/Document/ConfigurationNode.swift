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
        public let keyPlace: ConfigurationPlace
        public var value: ConfigurationNode
    }

    public var content: Content
    public let place: ConfigurationPlace

    public init(_ content: Content, at place: ConfigurationPlace) {
        self.content = content
        self.place = place
    }
}

/// Where something was said: in a file, in the environment, on the command line.
public enum ConfigurationPlace: Sendable, Equatable, CustomStringConvertible {
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
    public let place: ConfigurationPlace
    public let message: String

    public init(_ message: String, at place: ConfigurationPlace) {
        self.message = message
        self.place = place
    }

    public var description: String { "\(place): \(message)" }
}
