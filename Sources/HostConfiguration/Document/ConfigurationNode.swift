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
        public let keyPlace: ConfigurationLocation
        public var value: ConfigurationNode
    }

    public var content: Content
    public let place: ConfigurationLocation

    public init(_ content: Content, at place: ConfigurationLocation) {
        self.content = content
        self.place = place
    }
}

/// Where something was said: in a file, in the environment, on the command line.
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
    public let place: ConfigurationLocation
    public let message: String

    public init(_ message: String, at place: ConfigurationLocation) {
        self.message = message
        self.place = place
    }

    public var description: String { "\(place): \(message)" }
}
