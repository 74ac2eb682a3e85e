import AdapterKit
import HostConfiguration
import NearestNames

/// The roles that a configuration's accesses ask for, against those that it gives to accounts.
struct AccessRoles {
    let resolved: ResolvedConfiguration

    /// Of roles that are given nowhere and are nearly called as one that is. Others may be granted by `porticoctl`.
    var warnings: [String] {
        let given = resolved.all.reduce(into: Set<String>()) { given, entry in
            let isOfRoles = !Self.members.isDisjoint(with: entry.setting.path)
            Self.collect(entry.setting.value, isOfRoles: isOfRoles, &given)
        }
        return resolved.all.flatMap { key, setting in
            Self.roles(of: setting.value).subtracting(given).sorted().compactMap { role in
                // Short ones are near to everything.
                guard role.count > 3, let near = NearestName.of(role, among: given) else { return nil }
                let place = setting.location.map { "\($0): " } ?? ""
                return "\(place)\(key) names the role \(role), which no account is given here. Did you mean \(near)?"
            }
        }
    }

    /// Members whose texts are roles that accounts have.
    private static let members: Set<String> = ["roles", "groups", "moderators"]

    private static func collect(_ value: ConfigurationValue, isOfRoles: Bool, _ roles: inout Set<String>) {
        switch value {
        case .text(let text): if isOfRoles { roles.insert(text) }
        case .list(let items): for item in items { collect(item, isOfRoles: isOfRoles, &roles) }
        case .mapping(let entries):
            for (name, inner) in entries {
                collect(inner, isOfRoles: isOfRoles || members.contains(name), &roles)
            }
        default: break
        }
    }

    private static func roles(of value: ConfigurationValue) -> Set<String> {
        guard let rights = value.access else { return [] }
        return [rights.read, rights.write, rights.refresh].reduce(into: []) { roles, access in
            if case .roles(let named) = access { roles.formUnion(named.map(\.text)) }
        }
    }
}
