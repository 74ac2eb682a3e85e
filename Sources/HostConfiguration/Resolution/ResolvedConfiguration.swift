import AdapterKit

/// Every configured value, checked; what is not configured has its default.
public struct ResolvedConfiguration: Sendable {
    public struct Setting: Sendable, Equatable {
        public let path: [String]
        public let value: ConfigurationValue
        /// Nil for a default.
        public let location: ConfigurationLocation?
    }

    /// A key that is left aside because nothing takes it.
    public struct UnreadKey: Sendable, Equatable {
        public let path: [String]
        /// As the end of a sentence.
        public let reason: String
        public let location: ConfigurationLocation

        public var warning: ConfigurationError {
            ConfigurationError("The key \(path.joined(separator: ".")) is not read: \(reason).", at: location)
        }
    }

    let byKey: [String: Setting]
    /// Paths at which a mapping without keys stands.
    let emptyMappings: Set<[String]>
    /// What was left aside though it looks as if it were meant.
    public let warnings: [ConfigurationError]
    /// Those that ``warnings`` names too.
    public let unread: [UnreadKey]

    /// The file, over it the environment, over that `overrides` (`key=value`). Reports every error, not only the first.
    public static func resolve(
        _ root: ConfigurationNode, reference: ConfigurationReference, environment: [String: String] = [:],
        overrides: [String] = [], secrets: SecretSource
    ) -> Result<ResolvedConfiguration, ConfigurationErrors> {
        var resolver = Resolver(reference: reference, reader: ConfigurationValueReader(secrets: secrets))
        resolver.addDefaults()
        resolver.add(root, at: [])
        resolver.add { () throws(ConfigurationError) in try Overrides.environment(environment, reference) }
        resolver.add { () throws(ConfigurationError) in try Overrides.commandLine(overrides) }
        guard resolver.errors.isEmpty else { return .failure(ConfigurationErrors(resolver.errors)) }
        let warnings = Overrides.serviceVariables(environment).map {
            ConfigurationError(
                "This looks like a variable that Kubernetes sets for a service; it is left aside.", at: .environment($0)
            )
        }
        return .success(
            ResolvedConfiguration(
                settings: resolver.settings, emptyMappings: resolver.emptyMappings,
                warnings: warnings + resolver.unread.map(\.warning), unread: resolver.unread))
    }

    init(
        settings: [String: Setting], emptyMappings: Set<[String]> = [], warnings: [ConfigurationError],
        unread: [UnreadKey] = []
    ) {
        self.unread = unread
        byKey = settings
        self.emptyMappings = emptyMappings
        self.warnings = warnings
    }

    public subscript(path: String) -> ConfigurationValue? {
        byKey[path]?.value
    }

    public func location(of path: String) -> ConfigurationLocation? {
        byKey[path]?.location
    }

    /// Of the first setting below a path; nil where all are defaults.
    public func location(below path: String) -> ConfigurationLocation? {
        settings(below: path).lazy.compactMap { location(of: "\(path).\($0.path.joined(separator: "."))") }.first
    }

    /// Whether a path is named, with keys below it or without.
    public func names(_ path: [String]) -> Bool {
        location(below: path.joined(separator: ".")) != nil || emptyMappings.contains(path)
    }

    /// What follows a path where a mapping without keys stands: something that has a name and all defaults.
    public func emptyMappings(below path: String) -> [[String]] {
        let names = path.split(separator: ".").map(String.init)
        return emptyMappings.filter { $0.count > names.count && $0.starts(with: names) }
            .map { Array($0.dropFirst(names.count)) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// All settings below a path, with what follows it.
    public func settings(below path: String) -> [(path: [String], value: ConfigurationValue)] {
        let names = path.split(separator: ".").map(String.init)
        return byKey.values.filter { $0.path.count > names.count && $0.path.starts(with: names) }
            .map { (Array($0.path.dropFirst(names.count)), $0.value) }
            .sorted { $0.path.joined(separator: ".") < $1.path.joined(separator: ".") }
    }
}

public struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
    public let errors: [ConfigurationError]

    public init(_ errors: [ConfigurationError]) {
        self.errors = errors
    }

    public var description: String { errors.map(\.description).joined(separator: "\n") }
}

/// Collects settings layer by layer; a later one replaces an earlier one of the same path.
struct Resolver {
    let reference: ConfigurationReference
    let reader: ConfigurationValueReader
    var settings: [String: ResolvedConfiguration.Setting] = [:]
    var emptyMappings: Set<[String]> = []
    var errors: [ConfigurationError] = []
    var unread: [ResolvedConfiguration.UnreadKey] = []

    mutating func addDefaults() {
        for key in reference.keys {
            guard let text = key.defaultText, !key.path.contains("*") else { continue }
            let node = FlowText.node(text, at: .commandLine("\(key.name)=\(text)"))
            // An adapter's may be a plugin's.
            guard let value = try? reader.read(node, as: key.kind) else {
                errors.append(
                    ConfigurationError("The default of \(key.name) is not of its kind.", at: .commandLine(key.name)))
                continue
            }
            settings[key.name] = .init(path: key.path, value: value, location: nil)
        }
    }

    mutating func add(_ node: ConfigurationNode, at path: [String]) {
        if let key = reference.key(for: path) {
            if node.content == .null { return }
            set(path, node, key)
        } else if reference.hasKeys(below: path) {
            addMembers(of: node, at: path)
        } else {
            addUnknown(path, at: node.location)
        }
    }

    private mutating func addUnknown(_ path: [String], at location: ConfigurationLocation) {
        guard let reason = reference.reasonUnread(path) else {
            errors.append(ConfigurationError(unknown: path, in: reference, at: location))
            return
        }
        unread.append(.init(path: path, reason: reason, location: location))
    }

    mutating func add(_ layer: () throws(ConfigurationError) -> [(path: [String], node: ConfigurationNode)]) {
        do {
            for setting in try layer() { add(setting.node, at: setting.path) }
        } catch {
            errors.append(error)
        }
    }

    private mutating func addMembers(of node: ConfigurationNode, at path: [String]) {
        switch node.content {
        case .null: emptyMappings.insert(path)
        case .mapping(let entries):
            if entries.isEmpty { emptyMappings.insert(path) }
            for entry in entries {
                let below = path + [entry.key]
                guard reference.key(for: below) != nil || reference.hasKeys(below: below) else {
                    addUnknown(below, at: entry.keyLocation)
                    continue
                }
                add(entry.value, at: below)
            }
        default:
            let name = path.isEmpty ? "The configuration" : path.joined(separator: ".")
            errors.append(ConfigurationError("\(name) is a mapping of keys.", at: node.location))
        }
    }

    private mutating func set(_ path: [String], _ node: ConfigurationNode, _ key: ConfigurationKey) {
        do {
            let value = try reader.read(node, as: key.kind)
            settings[path.joined(separator: ".")] = .init(path: path, value: value, location: node.location)
        } catch {
            errors.append(error)
        }
    }
}
