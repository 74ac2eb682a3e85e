import AdapterKit
import Gateway
import HostConfiguration
import Upstream

/// What the way from one configuration to another consists of: which keys change, what each of them needs, and what has to
/// be made anew. A pure function of both.
struct ReloadPlan: Sendable {
    /// By key. One with an obstacle needs a restart, and then none of them is made.
    let changes: [ConfigurationChange]
    /// Those of which another instance is made, for another value of one of their options.
    let adapters: Set<AdapterName>
    let upstreams: Set<UpstreamName>
    /// Whether live streams go on: access and limits of sync are the same.
    let keepsSync: Bool

    init(from old: HostPlan, to new: HostPlan) {
        let found = old.resolved.changes(to: new.resolved, new.reference)
        adapters = Set(found.compactMap { $0.optionOwner }).intersection(new.adapters.map(\.declaration.name))
        upstreams = Set(found.compactMap { $0.upstream })
        keepsSync =
            old.settings.gateway.sync == new.settings.gateway.sync
            && zip(old.adapters, new.adapters).allSatisfy {
                $0.access == $1.access && $0.declaration == $1.declaration
            }
        let obstacles = Obstacles(old: old, new: new)
        changes = found.map { change in
            var change = change
            change.obstacle = change.obstacle ?? obstacles.of(change)
            return change
        }
    }

    var isPossible: Bool { changes.allSatisfy { $0.obstacle == nil } }
}

extension ConfigurationChange {
    private var names: [Substring] { key.split(separator: ".") }

    /// The adapter whose options it changes; nil for its access and for everything else.
    fileprivate var optionOwner: AdapterName? {
        guard names.count > 2, names[0] == "adapters", names.dropFirst(2) != ["access"] else { return nil }
        return AdapterName(String(names[1]))
    }

    fileprivate var upstream: UpstreamName? {
        guard names.count > 1, names[0] == "upstreams" else { return nil }
        return UpstreamName(String(names[1]))
    }

}

/// What stands against single values of keys that reload.
private struct Obstacles {
    let old: HostPlan
    let new: HostPlan

    func of(_ change: ConfigurationChange) -> String? {
        if beginsOrEndsTLS(change.key) { return "beginning or ending TLS needs a restart" }
        if let name = change.upstream { return obstacle(name) }
        if let name = change.optionOwner { return obstacle(name) }
        return nil
    }

    private func beginsOrEndsTLS(_ key: String) -> Bool {
        if key.hasPrefix("http.tls.") {
            return (old.settings.mount.certificate == nil) != (new.settings.mount.certificate == nil)
        }
        guard key.hasPrefix("admin.tls."), let before = old.settings.adminListener,
            let after = new.settings.adminListener
        else { return false }
        return (before.certificate == nil) != (after.certificate == nil)
    }

    /// Push services and sign-in providers are made of addresses and clients of their upstreams.
    private func obstacle(_ name: UpstreamName) -> String? {
        guard let before = old.settings.upstreams[name] else { return nil }
        guard !old.settings.push.upstreams.contains(name),
            !old.settings.providers.contains(where: { $0.upstream == name })
        else { return "push services or sign-in providers use the upstream: this needs a restart" }
        guard let after = new.settings.upstreams[name] else { return nil }
        return before.actsForCallers == after.actsForCallers
            ? nil : "in whose name an upstream is called changes with a restart only"
    }

    private func obstacle(_ name: AdapterName) -> String? {
        guard let before = old.adapters.first(where: { $0.declaration.name == name }),
            let after = new.adapters.first(where: { $0.declaration.name == name })
        else { return nil }
        guard before.declaration.hasSameParts(as: after.declaration) else {
            return "it changes what the adapter stores, mirrors or streams: this needs a restart"
        }
        return before.adapter.serviceOperations.isEmpty && after.adapter.serviceOperations.isEmpty
            ? nil : "other adapters use what this one adds to them: this needs a restart"
    }
}
