/// The way from a configuration to a running adapter. A built-in one stands in the host's catalogue; a plugin hands its
/// own out through ``adapterModuleBox(_:)``.
public protocol AdapterModule: SendableMetatype {
    /// The adapter's name: the key of its configuration and the first part of its paths.
    static var name: AdapterName { get }

    /// The keys below `adapters.{name}` that it understands, beside `enabled` and `access`.
    static var options: [ConfigurationOption] { get }

    /// Throws ``ConfigurationProblem`` where the configuration makes no sense. It has no effects: `portico check` calls
    /// it too.
    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration

    /// Makes the adapter. It has no effects before ``Adapter/start(_:)``.
    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter
}

extension AdapterModule {
    public static var options: [ConfigurationOption] { [] }
}

/// One key below `adapters.{name}`.
public struct ConfigurationOption: Sendable, Equatable {
    /// Names joined by dots; `*` stands for any one name: `*.access`.
    public let path: String
    /// The kind of the key's value.
    public let valueKind: ValueKind
    /// Arrives, in the form in which a value arrives, where the configuration says nothing; with `*`, for each name that it has there.
    public let defaultValue: WireValue?
    /// Whether another value changes what is stored or mirrored: entities, their fields, keys and indexes, or which system has the
    /// truth of them and how it is asked. What is stored then follows, or the change is refused.
    public let changesRecords: Bool
    /// One sentence that says what the key does.
    public let summary: String

    /// The kind of a key's value.
    public enum ValueKind: Sendable, Equatable {
        /// A value of this shape.
        case value(Shape)
        /// The callers that may call: ``Access/init(configurationValue:)`` reads what arrives.
        case access
        /// Written as `{env: NAME}` or `{file: PATH}`, never as it is. A text arrives, which belongs into a ``Secret``.
        case secret
        /// A span of time such as `30s`; never zero. It arrives in seconds, as a number with a fraction.
        case duration
        /// An amount of bytes such as `16MiB`. It arrives as a whole number.
        case size
        /// The name of an upstream of the configuration; one that is not declared is an error. A text arrives, by which
        /// ``AdapterContext/upstreams`` has it. The option `upstream` is ``AdapterContext/upstream``.
        case upstream
        /// A list of texts and of lists of texts. A text arrives as a list of one.
        case textLists
        /// The path of a file, absolute or from the configuration's folder on. A text arrives, as it is written. What the
        /// option of a compiled-in adapter names is closed to programs; to the gateway the option of a program is any text, and its
        /// file lies among what `worker.readable` lists.
        case file
    }

    /// Creates a configuration option with these values.
    public init(
        _ path: String, _ shape: Shape, defaultValue: WireValue? = nil, changesRecords: Bool = false, summary: String
    ) {
        self.init(
            path, .value(shape), defaultValue: defaultValue, changesRecords: changesRecords, summary: summary)
    }

    /// Creates a configuration option with these values.
    public init(
        _ path: String, _ valueKind: ValueKind, defaultValue: WireValue? = nil, changesRecords: Bool = false,
        summary: String
    ) {
        self.path = path
        self.valueKind = valueKind
        self.defaultValue = defaultValue
        self.changesRecords = changesRecords
        self.summary = summary
    }
}

/// The configuration below `adapters.{name}`: keys are known, shapes are checked.
public struct AdapterConfiguration: Sendable, Equatable {
    /// The keys and values below `adapters.{name}`, defaults filled in.
    public let values: WireDictionary
    /// The folder of the configuration file, from which relative paths of files are meant.
    public let directory: String
    /// The declared upstreams that are called in their callers' names (``Upstream/actsForCallers``).
    public let upstreamsOfCallers: Set<UpstreamName>

    /// Creates an adapter configuration with these values.
    public init(
        _ values: WireDictionary = [:], directory: String = ".", upstreamsOfCallers: Set<UpstreamName> = []
    ) {
        self.values = values
        self.directory = directory
        self.upstreamsOfCallers = upstreamsOfCallers
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

/// A mistake in a configuration. The host adds file, line and column.
public struct ConfigurationProblem: Error, Sendable, Equatable {
    /// Below `adapters.{name}`, joined by dots.
    public let path: String
    /// A sentence for operators.
    public let message: String

    /// Creates a configuration problem with these values.
    public init(_ path: String, _ message: String) {
        self.path = path
        self.message = message
    }
}
