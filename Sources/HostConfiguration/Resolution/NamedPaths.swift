import AdapterKit

extension NamedPath {
    /// All paths that a configuration names, each once: its own file, the file of every `{file: …}` wherever it stands, and the texts
    /// of the keys that ``ConfigurationKey/namingFiles(from:)`` says it of. A value counts that another layer overrides, and so
    /// does what stands below a key that the reference does not have: more is closed to programs then, never less.
    public static func all(
        in root: ConfigurationNode, reference: ConfigurationReference, environment: [String: String] = [:],
        overrides: [String] = [], secrets: SecretSource
    ) -> [NamedPath] {
        var collector = NamedPathCollector(reference: reference, secrets: secrets)
        if case .file(let path, _, _) = root.location {
            collector.add(NamedPath(key: "the configuration", path: path, from: .workingDirectory))
        }
        collector.visit(root, at: [])
        for setting in Overrides.knownSettings(in: environment, reference) {
            collector.visit(setting.node, at: setting.path)
        }
        // What cannot be read is an error of the configuration, which is found when it is resolved.
        for setting in overrides.flatMap({ (try? Overrides.commandLine([$0])) ?? [] }) {
            collector.visit(setting.node, at: setting.path)
        }
        return collector.found
    }
}

private struct NamedPathCollector {
    let reference: ConfigurationReference
    let secrets: SecretSource
    private(set) var found: [NamedPath] = []

    init(reference: ConfigurationReference, secrets: SecretSource) {
        (self.reference, self.secrets) = (reference, secrets)
    }

    mutating func add(_ named: NamedPath) {
        if !named.path.isEmpty, !found.contains(named) { found.append(named) }
    }

    mutating func visit(_ node: ConfigurationNode, at path: [String]) {
        let key = reference.key(for: path)
        switch node.content {
        case .null: break
        case .scalar(let text): if let base = key?.files { add(text, at: path, from: base) }
        case .list(let items): for item in items { visit(item, at: path) }
        case .mapping(let entries):
            if entries.count == 1, case .scalar(let name) = entries[0].value.content {
                // Unless it is a key of its own that has this name.
                if entries[0].key == "file", reference.key(for: path + ["file"]) == nil {
                    add(NamedPath(key: path.joined(separator: "."), path: name, from: .configuration))
                }
                if let base = key?.files, let secret = try? secrets.secret(entries[0].key, name, at: node.location) {
                    add(secret.reveal(), at: path, from: base)
                }
            }
            for entry in entries { visit(entry.value, at: path + [entry.key]) }
        }
    }

    /// A key in PEM is no path.
    private mutating func add(_ text: String, at path: [String], from base: NamedPath.Base) {
        guard !text.contains("-----BEGIN"), !text.contains(where: \.isNewline) else { return }
        add(NamedPath(key: path.joined(separator: "."), path: text, from: base))
    }
}
