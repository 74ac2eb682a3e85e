import AdapterKit
import NearestNames

/// The roles that the configuration (its providers and accounts too) and the declarations of the adapters name. Others
/// give nothing, so one that is typed is most likely mistyped.
struct NamedRoles: Sendable {
    let adapters: [ServedAdapter]
    let configuration: any ConfigurationControl

    private static let mostShown = 20

    /// Throws `request.invalid` for a role that is neither named nor one of `held`, with the one that is near or those that there are.
    func check(_ roles: Set<RoleName>, held: Set<RoleName> = []) async throws {
        guard !roles.isSubset(of: held) else { return }
        let named = await all().union(held)
        guard let wrong = roles.subtracting(named).min() else { return }
        let known = named.sorted().map(\.text)
        let near = NearestName.sentence(wrong.text, among: known)
        let listed = known.prefix(Self.mostShown).joined(separator: ", ")
        let hint = near.isEmpty && !known.isEmpty ? " They name \(listed)." : near
        throw PorticoError(
            .requestInvalid,
            """
            Neither the configuration nor an adapter names a role \(wrong).\(hint) --new-role takes one that is not named yet.
            """, target: "roles")
    }

    func all() async -> Set<RoleName> {
        var roles: Set<RoleName> = []
        for adapter in adapters { Self.collect(adapter.declaration, &roles) }
        for setting in await configuration.settings() { roles.formUnion(Self.roles(setting)) }
        return roles
    }

    /// Every role within a declaration, wherever it stands: rules, accesses and what else there may come to be.
    static func collect(_ value: Any, _ roles: inout Set<RoleName>) {
        if let role = value as? RoleName {
            roles.insert(role)
            return
        }
        for child in Swift.Mirror(reflecting: value).children { collect(child.value, &roles) }
    }

    /// The roles of a setting of roles (`identity.providers.corp.roles`, `adapters.chat.moderators`, a provider's group), all; of
    /// another one those in its members called `roles`, as in an access or a list of accounts.
    static func roles(_ setting: ConfiguredSetting) -> Set<RoleName> {
        let path = setting.key.split(separator: ".")
        if path.starts(with: ["admin", "roles"]) { return names(setting.value[...]) }
        // Those of certificates and tokens are other ones.
        guard path.first != "admin", let last = path.last else { return [] }
        let isGroup = path.starts(with: ["identity", "providers"]) && path.contains("groups")
        if isGroup || ["roles", "moderators"].contains(last) {
            return names(setting.value[...])
        }
        return setting.value.split(separator: "roles: [").dropFirst().reduce(into: []) {
            $0.formUnion(names($1.prefix { $0 != "]" }))
        }
    }

    private static func names(_ text: Substring) -> Set<RoleName> {
        Set(text.split { "[], \"'".contains($0) }.compactMap { RoleName(String($0)) })
    }
}
