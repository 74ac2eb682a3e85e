import NearestNames

/// Reads the configuration values of environment variables and of `--set`, which override those of the file.
enum Overrides {
    /// What the programs are started with: `--data` and `--url`. They are no keys.
    private static let ofPrograms: Set<String> = ["PORTICO_DATA", "PORTICO_URL"]

    /// `PORTICO_` and the key in upper snake case: `http.corsMaxAge` is `PORTICO_HTTP_CORS_MAX_AGE`. A variable that
    /// begins so and names no key is an error, since it was meant to; but for ``serviceVariables(_:)`` and those of the
    /// programs themselves.
    static func environment(
        _ environment: [String: String], _ reference: ConfigurationReference
    ) throws(ConfigurationError) -> [(path: [String], node: ConfigurationNode)] {
        var found: [(path: [String], node: ConfigurationNode)] = []
        let services = Set(serviceVariables(environment))
        for (name, text) in environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("PORTICO_") && !services.contains(name) && !ofPrograms.contains(name) {
            let location = ConfigurationLocation.environment(name)
            let key = String(name.dropFirst("PORTICO_".count))
            guard let path = path(of: key, reference) ?? unread(key, reference) else {
                let known = reference.keys.filter { !$0.path.contains("*") }.map { key in
                    key.path.map(snakeCase).joined(separator: "_")
                }
                let hint = NearestName.of(key, among: known).map { " Did you mean PORTICO_\($0)?" } ?? ""
                throw ConfigurationError("No configuration key has this name.\(hint)", at: location)
            }
            found.append((path, FlowText.node(text, at: location)))
        }
        return found
    }

    /// As ``environment(_:_:)``, without those that name no key.
    static func knownSettings(
        in environment: [String: String], _ reference: ConfigurationReference
    ) -> [(path: [String], node: ConfigurationNode)] {
        environment.sorted { $0.key < $1.key }.compactMap { name, text in
            guard name.hasPrefix(prefix), let path = path(of: String(name.dropFirst(prefix.count)), reference) else {
                return nil
            }
            return (path, FlowText.node(text, at: .environment(name)))
        }
    }

    private static let prefix = "PORTICO_"

    /// Those that Kubernetes sets in every container for a service named `portico` or `portico-…`: `PORTICO_SERVICE_HOST`,
    /// `PORTICO_SERVICE_PORT`, `PORTICO_PORT=tcp://…` and `PORTICO_PORT_8443_TCP…`.
    static func serviceVariables(_ environment: [String: String]) -> [String] {
        environment.filter { name, text in isServiceVariable(name, text) }.keys.sorted()
    }

    private static func isServiceVariable(_ name: String, _ text: String) -> Bool {
        guard name.hasPrefix("PORTICO_") else { return false }
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        if let service = words.dropFirst().firstIndex(of: "SERVICE"), service + 1 < words.count {
            let rest = words[(service + 1)...]
            return rest.elementsEqual(["HOST"]) || rest.first == "PORT"
        }
        let protocols: [Substring] = ["TCP", "UDP", "SCTP"]
        if words.last == "PORT", protocols.contains(where: { text.hasPrefix("\($0.lowercased())://") }) { return true }
        return words.indices.contains { index in
            words[index] == "PORT" && index + 2 < words.count && Int(words[index + 1]) != nil
                && protocols.contains(words[index + 2])
                && (index + 3 == words.count
                    || (index + 4 == words.count && ["PROTO", "PORT", "ADDR"].contains(words[index + 3])))
        }
    }

    /// `key=value`, lists as `[a,b]`.
    static func commandLine(_ settings: [String]) throws(ConfigurationError) -> [(
        path: [String], node: ConfigurationNode
    )] {
        var found: [(path: [String], node: ConfigurationNode)] = []
        for setting in settings {
            let location = ConfigurationLocation.commandLine(setting)
            guard let split = setting.firstIndex(of: "="), split != setting.startIndex else {
                throw ConfigurationError("This is not of the form key=value.", at: location)
            }
            let path = setting[..<split].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            found.append((path, FlowText.node(String(setting[setting.index(after: split)...]), at: location)))
        }
        return found
    }

    static func snakeCase(_ name: String) -> String {
        var snake = ""
        for character in name {
            if character.isUppercase, !snake.isEmpty { snake += "_" }
            snake += character == "-" ? "_" : character.uppercased()
        }
        return snake
    }

    /// The key that has this name; a `*` takes one piece without an underscore, in lower case.
    private static func path(of variable: String, _ reference: ConfigurationReference) -> [String]? {
        for key in reference.keys {
            if let path = match(variable[...], key.path[...]) { return path }
        }
        return nil
    }

    /// The path below which such a key is left unread, with the rest of the variable's name as a name.
    private static func unread(_ variable: String, _ reference: ConfigurationReference) -> [String]? {
        // Below `adapters` alone a variable's name does not say where the adapter's ends.
        reference.unread.keys.lazy.filter { $0.count > 1 }.compactMap { path in
            let prefix = path.map { snakeCase($0) + "_" }.joined()
            let rest = variable.dropFirst(prefix.count)
            return variable.hasPrefix(prefix) && !rest.isEmpty ? path + [rest.lowercased()] : nil
        }.first
    }

    private static func match(_ variable: Substring, _ pattern: ArraySlice<String>) -> [String]? {
        guard let first = pattern.first else { return nil }
        let piece = first == "*" ? variable.prefix { $0 != "_" } : variable.prefix(snakeCase(first).count)
        guard !piece.isEmpty, first == "*" || piece == snakeCase(first) else { return nil }
        let name = first == "*" ? piece.lowercased() : first
        let rest = variable.dropFirst(piece.count)
        if pattern.count == 1 { return rest.isEmpty ? [name] : nil }
        guard rest.first == "_", let below = match(rest.dropFirst(), pattern.dropFirst()) else { return nil }
        return [name] + below
    }
}

/// Values as they stand in the environment and on the command line.
enum FlowText {
    /// Lists inside lists deeper than this are texts; no key takes them.
    private static let maximumDepth = 2

    static func node(_ text: String, at location: ConfigurationLocation) -> ConfigurationNode {
        node(text, at: location, depth: maximumDepth)
    }

    private static func node(_ text: String, at location: ConfigurationLocation, depth: Int) -> ConfigurationNode {
        guard depth > 0, text.hasPrefix("["), text.hasSuffix("]") else {
            return ConfigurationNode(.scalar(text), at: location)
        }
        let items = items(text.dropFirst().dropLast()).map { item in
            node(item.trimmingPrefix(while: \.isWhitespace).description, at: location, depth: depth - 1)
        }
        return ConfigurationNode(.list(items), at: location)
    }

    /// What commas separate that stand in no inner brackets. Empty items are left out.
    private static func items(_ text: Substring) -> [Substring] {
        var depth = 0
        return text.split { character in
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            return character == "," && depth == 0
        }
    }
}
