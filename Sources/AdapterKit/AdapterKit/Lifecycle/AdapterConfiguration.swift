/// One key below `adapters.{name}`.
public struct ConfigurationOption: Sendable, Equatable {
    /// Names joined by dots; `*` stands for any one name: `*.access`.
    public let path: String
    public let takes: Takes
    /// Arrives where the configuration says nothing; with `*`, for each name that it has there.
    public let defaultValue: WireValue?
    public let summary: String

    public enum Takes: Sendable, Equatable {
        case value(Shape)
        /// Who may call: ``Access/init(configurationValue:)`` reads what arrives.
        case access
        /// Written as `{env: NAME}` or `{file: PATH}`, never as it is. A text arrives, which belongs into a ``Secret``.
        case secret
        /// A list of texts and of lists of texts. A text arrives as a list of one.
        case textLists
    }

    public init(_ path: String, _ shape: Shape, defaultValue: WireValue? = nil, summary: String) {
        self.init(path, .value(shape), defaultValue: defaultValue, summary: summary)
    }

    public init(_ path: String, _ takes: Takes, defaultValue: WireValue? = nil, summary: String) {
        self.path = path
        self.takes = takes
        self.defaultValue = defaultValue
        self.summary = summary
    }
}

/// What the configuration says below `adapters.{name}`: keys are known, shapes are checked.
public struct AdapterConfiguration: Sendable, Equatable {
    public let values: WireDictionary
    /// The folder of the configuration file, from which relative paths of files are meant.
    public let directory: String

    public init(_ values: WireDictionary = [:], directory: String = ".") {
        self.values = values
        self.directory = directory
    }

    /// The value at a path of names; nil where nothing is said.
    public subscript(path: String...) -> WireValue? {
        var value = WireValue.dictionary(values)
        for name in path {
            guard let next = value[name] else { return nil }
            value = next
        }
        return value
    }
}

/// What is wrong with a configuration. The host adds file, line and column.
public struct ConfigurationProblem: Error, Sendable, Equatable {
    /// Below `adapters.{name}`, joined by dots.
    public let path: String
    public let message: String

    public init(_ path: String, _ message: String) {
        self.path = path
        self.message = message
    }
}
