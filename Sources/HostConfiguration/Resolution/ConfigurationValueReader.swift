import AdapterKit

/// From what was written to a value of its kind.
public struct ConfigurationValueReader: Sendable {
    let secrets: SecretSource

    public init(secrets: SecretSource) {
        self.secrets = secrets
    }

    /// Throws where something else stands there.
    public func read(_ node: ConfigurationNode, as kind: ConfigurationKind) throws(ConfigurationError)
        -> ConfigurationValue
    {
        switch kind {
        case .text: return .text(try scalar(node, "a text"))
        case .choice(let choices): return .text(try choice(node, choices))
        case .integer(let range): return .integer(try integer(node, range))
        case .number: return .number(try number(node))
        case .flag: return .flag(try flag(node))
        case .duration: return .duration(try duration(node))
        case .size: return .size(try size(node))
        case .access: return .access(try access(node))
        case .secret(let allowsPlain): return .secret(try secret(node, allowsPlain: allowsPlain))
        case .list(let item): return .list(try list(node, of: item))
        case .oneOrMore(let item):
            if case .list = node.content { return .list(try list(node, of: item)) }
            return .list([try read(node, as: item)])
        case .mapping(let keys): return .mapping(try mapping(node, keys))
        }
    }

    private func scalar(_ node: ConfigurationNode, _ expected: String) throws(ConfigurationError) -> String {
        guard case .scalar(let text) = node.content else {
            throw ConfigurationError("Here must stand \(expected).\(Self.hint(node))", at: node.location)
        }
        return text
    }

    /// For what is written as a secret is, at a key that takes none.
    private static func hint(_ node: ConfigurationNode) -> String {
        guard case .mapping(let entries) = node.content, entries.count == 1,
            case .scalar(let written) = entries[0].value.content
        else { return "" }
        switch entries[0].key {
        case "file": return " A key that names a file takes its path as it is: \(written)."
        case "env":
            return " Only secrets are taken from the environment like that; any key is by a variable of its own name, "
                + "as PORTICO_HTTP_PORT is http.port."
        default: return ""
        }
    }

    private func choice(_ node: ConfigurationNode, _ choices: [String]) throws(ConfigurationError) -> String {
        let expected = "one of \(choices.joined(separator: ", "))"
        let text = try scalar(node, expected)
        guard choices.contains(text) else {
            throw ConfigurationError("Here must stand \(expected).", at: node.location)
        }
        return text
    }

    private func integer(_ node: ConfigurationNode, _ range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard let number = Int(try scalar(node, expected)), range.contains(number) else {
            throw ConfigurationError("Here must stand \(expected).", at: node.location)
        }
        return number
    }

    private func number(_ node: ConfigurationNode) throws(ConfigurationError) -> Double {
        let expected = "a number such as 0.5"
        guard let number = Double(try scalar(node, expected)), number.isFinite else {
            throw ConfigurationError("Here must stand \(expected).", at: node.location)
        }
        return number
    }

    private func flag(_ node: ConfigurationNode) throws(ConfigurationError) -> Bool {
        switch try scalar(node, "true or false") {
        case "true", "on", "yes": return true
        case "false", "off", "no": return false
        default: throw ConfigurationError("Here must stand true or false.", at: node.location)
        }
    }

    private func duration(_ node: ConfigurationNode) throws(ConfigurationError) -> Duration {
        let expected = "a duration above zero such as 250ms, 30s, 15m, 8h or 30d"
        let (number, unit) = split(try scalar(node, expected))
        let scale: Duration? =
            switch unit {
            case "ms": .milliseconds(1)
            case "s": .seconds(1)
            case "m": .seconds(60)
            case "h": .seconds(3_600)
            case "d": .seconds(86_400)
            default: nil
            }
        guard let number, let scale, 1...1_000_000_000 ~= number else {
            throw ConfigurationError("Here must stand \(expected).", at: node.location)
        }
        return scale * number
    }

    private func size(_ node: ConfigurationNode) throws(ConfigurationError) -> Int {
        let expected = "a size such as 512, 64KiB, 1MiB or 2GiB"
        let (number, unit) = split(try scalar(node, expected))
        let shift = ["": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30][unit]
        guard let number, let shift, number < 1 << 32 else {
            throw ConfigurationError("Here must stand \(expected).", at: node.location)
        }
        return number << shift
    }

    private func split(_ text: String) -> (Int?, String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return (Int(digits), String(text[digits.endIndex...]))
    }

    private func list(
        _ node: ConfigurationNode, of kind: ConfigurationKind
    ) throws(ConfigurationError) -> [ConfigurationValue] {
        guard case .list(let items) = node.content else {
            throw ConfigurationError("Here must stand a list.", at: node.location)
        }
        var values: [ConfigurationValue] = []
        for item in items { values.append(try read(item, as: kind)) }
        return values
    }

    private func mapping(
        _ node: ConfigurationNode, _ keys: [ConfigurationKey]
    ) throws(ConfigurationError) -> [String: ConfigurationValue] {
        guard case .mapping(let entries) = node.content else {
            throw ConfigurationError("Here must stand a mapping.", at: node.location)
        }
        let reference = ConfigurationReference(keys)
        var values: [String: ConfigurationValue] = [:]
        for entry in entries {
            guard let key = reference.key(for: [entry.key]) else {
                throw ConfigurationError(unknown: [entry.key], in: reference, at: entry.keyLocation)
            }
            values[entry.key] = try read(entry.value, as: key.kind)
        }
        if let missing = keys.first(where: { $0.isRequired && values[$0.name] == nil }) {
            throw ConfigurationError("Here \(missing.name) is missing.", at: node.location)
        }
        return values
    }
}

extension ConfigurationValueReader {
    private static let rights = ["read", "write", "refresh"]

    private func access(_ node: ConfigurationNode) throws(ConfigurationError) -> AccessRights {
        switch node.content {
        case .scalar("public-read"): return .publicRead
        case .scalar("public"): return .public
        case .scalar("login"): return .login
        case .mapping(let entries) where entries.contains { $0.key == "roles" }:
            guard let roles = roles(entries) else { break }
            return .roles(roles)
        case .mapping(let entries) where !entries.isEmpty:
            var given: [String: Access] = [:]
            for entry in entries {
                guard Self.rights.contains(entry.key) else {
                    throw ConfigurationError(
                        "There is no right \(entry.key): they are \(Self.rights.joined(separator: ", ")).",
                        at: entry.keyLocation)
                }
                given[entry.key] = try right(entry.value)
            }
            return AccessRights(read: given["read"], write: given["write"], refresh: given["refresh"])
        default: break
        }
        throw ConfigurationError(
            "Here must stand login, public-read, public, {roles: [names]} or {read: …, write: …}.", at: node.location)
    }

    private func right(_ node: ConfigurationNode) throws(ConfigurationError) -> Access {
        switch node.content {
        case .scalar("none"): return .nobody
        case .scalar("public"): return .public
        case .scalar("login"): return .login
        case .mapping(let entries):
            guard let roles = roles(entries) else { break }
            return .roles(roles)
        default: break
        }
        throw ConfigurationError(
            "Here must stand none, public, login or {roles: [names]}.", at: node.location)
    }

    /// Nil for what is no list of at least one role.
    private func roles(_ entries: [ConfigurationNode.Entry]) -> Set<RoleName>? {
        guard entries.count == 1, entries[0].key == "roles", case .list(let items) = entries[0].value.content,
            !items.isEmpty
        else { return nil }
        let roles = items.compactMap { item -> RoleName? in
            if case .scalar(let text) = item.content { RoleName(text) } else { nil }
        }
        return roles.count == items.count ? Set(roles) : nil
    }

    private func secret(_ node: ConfigurationNode, allowsPlain: Bool) throws(ConfigurationError) -> Secret {
        switch node.content {
        case .scalar(let text) where allowsPlain: return Secret(text)
        case .mapping(let entries) where entries.count == 1:
            if case .scalar(let name) = entries[0].value.content,
                let secret = try secrets.secret(entries[0].key, name, at: node.location)
            {
                return secret
            }
        default: break
        }
        throw ConfigurationError("Here must stand {env: NAME} or {file: PATH}.", at: node.location)
    }
}

extension ConfigurationError {
    /// For a key that is not known, with the most similar one as a suggestion.
    public init(unknown names: [String], in reference: ConfigurationReference, at location: ConfigurationLocation) {
        if let instead = reference.instead(of: names) {
            self.init("The key \(names.joined(separator: ".")) has gone: \(instead).", at: location)
            return
        }
        let hint =
            if let similar = reference.suggestion(for: names) {
                " Did you mean \(similar)?"
            } else if names.count == 2, names[0] == "adapters" {
                " No adapter of this name is built in, named below plugins, or installed in the data directory."
            } else {
                ""
            }
        self.init("There is no key \(names.joined(separator: ".")).\(hint)", at: location)
    }
}

/// A configured value of a known kind.
public indirect enum ConfigurationValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    case flag(Bool)
    case duration(Duration)
    case size(Int)
    case access(AccessRights)
    case secret(Secret)
    case list([ConfigurationValue])
    case mapping([String: ConfigurationValue])
}

extension ConfigurationValue {
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var integer: Int? { if case .integer(let number) = self { number } else { nil } }
    public var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    public var duration: Duration? { if case .duration(let duration) = self { duration } else { nil } }
    public var size: Int? { if case .size(let size) = self { size } else { nil } }
    public var access: AccessRights? { if case .access(let access) = self { access } else { nil } }
    public var secret: Secret? { if case .secret(let secret) = self { secret } else { nil } }
    public var list: [ConfigurationValue]? { if case .list(let list) = self { list } else { nil } }
    public subscript(key: String) -> ConfigurationValue? {
        if case .mapping(let members) = self { members[key] } else { nil }
    }
}

/// Where secrets are taken from, so that they never stand in a configuration file.
public struct SecretSource: Sendable {
    private let environment: [String: String]
    private let directory: String?
    private let readFile: @Sendable (String) throws -> String

    /// `directory`: the configuration file's, where relative paths begin; nil: they are read as they are.
    public init(
        environment: [String: String], directory: String? = nil,
        readFile: @escaping @Sendable (String) throws -> String
    ) {
        self.environment = environment
        self.directory = directory
        self.readFile = readFile
    }

    /// Nil where `kind` is neither `env` nor `file`. A file's trailing line end does not belong to the secret.
    func secret(_ kind: String, _ name: String, at location: ConfigurationLocation) throws(ConfigurationError)
        -> Secret?
    {
        switch kind {
        case "env":
            guard let text = environment[name] else {
                throw ConfigurationError("The environment variable \(name) is not set.", at: location)
            }
            return Secret(text)
        case "file":
            let path = name.hasPrefix("/") ? name : directory.map { "\($0)/\(name)" } ?? name
            let text: String
            do { text = try readFile(path) } catch {
                throw ConfigurationError("The file \(path) cannot be read: \(error).", at: location)
            }
            return Secret(text.last?.isNewline == true ? String(text.dropLast()) : text)
        default: return nil
        }
    }
}
