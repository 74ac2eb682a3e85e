import AdapterKit

/// Where secrets are taken from, so that they never stand in a configuration file.
public struct SecretSource: Sendable {
    private let environment: [String: String]
    private let readFile: @Sendable (String) throws -> String

    public init(environment: [String: String], readFile: @escaping @Sendable (String) throws -> String) {
        self.environment = environment
        self.readFile = readFile
    }

    /// Nil where `kind` is neither `env` nor `file`. A file's trailing line end does not belong to the secret.
    func secret(_ kind: String, _ name: String, at place: ConfigurationLocation) throws(ConfigurationError) -> Secret? {
        switch kind {
        case "env":
            guard let text = environment[name] else {
                throw ConfigurationError("The environment variable \(name) is not set.", at: place)
            }
            return Secret(text)
        case "file":
            guard let text = try? readFile(name) else {
                throw ConfigurationError("The file \(name) cannot be read.", at: place)
            }
            return Secret(text.last?.isNewline == true ? String(text.dropLast()) : text)
        default: return nil
        }
    }
}
