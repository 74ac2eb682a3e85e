import AdapterKit

/// Every configured value, checked; what nobody configured has its default.
public struct ResolvedConfiguration: Sendable {
    public struct Setting: Sendable, Equatable {
        public let path: [String]
        public let value: ConfigurationValue
        /// Nil for a default.
        public let place: ConfigurationLocation?
    }

    private let settings: [String: Setting]
    /// What was left aside though it looks as if it were meant.
    public let warnings: [ConfigurationError]

    /// The file, over it the environment, over that `overrides` (`key=value`). Reports every error, not only the first.
    public static func resolve(
        _ root: ConfigurationNode, reference: ConfigurationReference, environment: [String: String] = [:],
        overrides: [String] = [], secrets: SecretSource
    ) -> Result<ResolvedConfiguration, ConfigurationErrors> {
        var resolver = Resolver(reference: reference, reader: ValueReader(secrets: secrets))
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
        return .success(ResolvedConfiguration(settings: resolver.settings, warnings: warnings))
    }

    init(settings: [String: Setting], warnings: [ConfigurationError]) {
        self.settings = settings
        self.warnings = warnings
    }

    public subscript(path: String) -> ConfigurationValue? {
        settings[path]?.value
    }

    public func place(of path: String) -> ConfigurationLocation? {
        settings[path]?.place
    }

    /// All settings below a path, with what follows it.
    public func settings(below path: String) -> [(path: [String], value: ConfigurationValue)] {
        let names = path.split(separator: ".").map(String.init)
        return settings.values.filter { $0.path.count > names.count && $0.path.starts(with: names) }
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
