import AdapterKit
import HostConfiguration
import Identity
import Upstream

/// What was configured below one path, such as `upstreams.hr`, with the place of what is wrong in it.
struct SectionValues {
    let path: String
    let resolved: ResolvedConfiguration

    init(_ path: String, _ resolved: ResolvedConfiguration) {
        self.path = path
        self.resolved = resolved
    }

    subscript(key: String) -> ConfigurationValue? { resolved["\(path).\(key)"] }

    func text(_ key: String) throws -> String {
        guard let text = self[key]?.text, !text.isEmpty else { throw wrong(key, "This is needed.") }
        return text
    }

    /// Nil where it was left out.
    func address(_ key: String) throws -> UpstreamAddress? {
        guard let text = self[key]?.text else { return nil }
        guard let address = UpstreamAddress(text) else { throw wrong(key, "This is no http or https address.") }
        return address
    }

    func neededAddress(_ key: String) throws -> UpstreamAddress {
        guard let address = try address(key) else { throw wrong(key, "This is needed.") }
        return address
    }

    /// An address, or a reference from the upstream's. Nil where it was left out.
    func address(_ key: String, at upstream: UpstreamSettings) throws -> UpstreamAddress? {
        guard let text = self[key]?.text else { return nil }
        guard let address = upstream.url.resolving(text) else { throw wrong(key, "This is no http or https address.") }
        guard upstream.origins.contains(address.origin) else {
            throw wrong(key, "This is no server of the upstream \(upstream.name).")
        }
        return address
    }

    /// The upstream that `upstream` names.
    func upstream(in upstreams: [UpstreamName: UpstreamPlan]) throws -> UpstreamPlan {
        let text = try text("upstream")
        guard let plan = UpstreamName(text).flatMap({ upstreams[$0] }) else {
            throw wrong("upstream", "There is no upstream \(text).\(upstreams.hint(for: text))")
        }
        return plan
    }

    /// Each text of a list as what it must be; empty where the list was left out.
    func list<Value>(_ key: String, _ expected: String, _ read: (String) -> Value?) throws -> [Value] {
        try items(self[key], key, expected, read)
    }

    /// What stands below a key, by its name there.
    func valuesBelow(_ key: String) -> [(name: String, value: ConfigurationValue)] {
        resolved.settings(below: "\(path).\(key)").map { (name: $0.path.joined(separator: "."), value: $0.value) }
    }

    func roles() throws -> RoleMapping {
        var mapping = RoleMapping()
        mapping.defaultRoles = Set(try list("roles", "the names of roles", { RoleName($0) }))
        for (group, value) in valuesBelow("groups") {
            mapping.groups[group] = Set(try items(value, "groups.\(group)", "the names of roles", { RoleName($0) }))
        }
        mapping.isRequired = self["requiresRole"]?.flag ?? false
        return mapping
    }

    func wrong(_ key: String, _ message: String) -> ConfigurationErrors {
        let name = "\(path).\(key)"
        let isSaid = resolved.location(of: name) != nil
        return ConfigurationErrors([
            ConfigurationError(
                isSaid ? message : "\(name): \(message)",
                at: resolved.location(of: name) ?? resolved.location(below: path) ?? .commandLine(name))
        ])
    }

    private func items<Value>(
        _ list: ConfigurationValue?, _ key: String, _ expected: String, _ read: (String) -> Value?
    ) throws -> [Value] {
        try (list?.list ?? []).map { item in
            guard let value = item.text.flatMap(read) else { throw wrong(key, "Here must stand \(expected).") }
            return value
        }
    }
}
