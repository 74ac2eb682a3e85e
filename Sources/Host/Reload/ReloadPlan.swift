import AdapterKit
import Gateway
import HostConfiguration
import Identity
import Upstream

/// What the way from one configuration to another consists of: which keys change, what each of them needs, and what has to
/// be made anew. A pure function of both.
struct ReloadPlan: Sendable {
    /// By key. One with an obstacle needs a restart, and then none of them is made.
    let changes: [ConfigurationChange]
    /// Why an adapter cannot be made anew; nil: each can.
    let obstacle: String?
    /// Those of which another generation takes the place, whatever has caused it.
    let adapters: Set<AdapterName>
    /// Those that come, go, or store, mirror or stream something else.
    let membership: AdapterMembership
    let upstreams: Set<UpstreamName>
    /// Ways to sign in that are made anew: those that change, or whose upstream does.
    let providers: Set<ProviderName>
    /// Whether push services are made anew: one of them changes, or what it calls does.
    let renewsPush: Bool
    /// Whether live streams go on: access and limits of sync are the same.
    let keepsSync: Bool

    /// `renewed`: adapters of which another generation is made whether anything has changed or not.
    init(from old: HostPlan, to new: HostPlan, renewing renewed: Set<AdapterName> = []) {
        let found =
            old.resolved.changes(to: new.resolved, new.reference, before: old.reference)
            + old.connectionChanges(to: new)
        let membership = AdapterMembership(from: old.adapters, to: new.adapters)
        self.membership = membership
        let informedAnew = old.settings.push.hasPlatforms(of: new.settings.push) ? [] : new.programs
        adapters = Set(found.compactMap(\.adapter)).union(renewed).union(old.changedAdapters(in: new)).union(
            informedAnew
        )
        .intersection(new.adapters.map(\.declaration.name))
        let upstreams = Set(found.compactMap { $0.upstream })
        self.upstreams = upstreams
        providers = Set(found.compactMap { $0.provider }).union(
            new.settings.providers.filter { upstreams.contains($0.upstream) }.map(\.name))
        renewsPush =
            found.contains { $0.key.hasPrefix("push.") }
            || !old.settings.push.upstreams.union(new.settings.push.upstreams).isDisjoint(with: upstreams)
        keepsSync =
            old.settings.gateway.sync == new.settings.gateway.sync && old.adapters.count == new.adapters.count
            && zip(old.adapters, new.adapters).allSatisfy {
                $0.declaration == $1.declaration
            }
        let obstacles = Obstacles(old: old, new: new)
        obstacle = adapters.union(membership.removed).compactMap { obstacles.ofAdded($0) }.first
        changes = found.map { change in
            var change = change
            change.obstacle = change.obstacle ?? obstacles.of(change)
            return change
        }
    }

    var isPossible: Bool { obstacle == nil && changes.allSatisfy { $0.obstacle == nil } }
}

/// Which adapters come and go from one configuration to another, as the store sees it.
struct AdapterMembership: Sendable {
    let added: Set<AdapterName>
    let removed: Set<AdapterName>
    /// What they store, mirror or stream is another thing.
    let redeclared: Set<AdapterName>

    init(from old: [HostPlan.PlannedAdapter], to new: [HostPlan.PlannedAdapter]) {
        func byName(_ adapters: [HostPlan.PlannedAdapter]) -> [AdapterName: HostPlan.PlannedAdapter] {
            Dictionary(adapters.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
        }
        let (before, after) = (byName(old), byName(new))
        added = Set(after.keys).subtracting(before.keys)
        removed = Set(before.keys).subtracting(after.keys)
        redeclared = Set(
            after.filter { name, planned in
                before[name].map { !$0.declaration.hasSameParts(as: planned.declaration) } ?? false
            }.keys)
    }

    /// What has to be in the store for them comes with them.
    var fresh: Set<AdapterName> { added.union(redeclared) }

    /// What is in the store for them goes with them.
    var ended: Set<AdapterName> { removed.union(redeclared) }

    var isEmpty: Bool { added.isEmpty && ended.isEmpty }
}

extension HostPlan {
    /// Programs get the names of the push services at their start.
    fileprivate var programs: [AdapterName] {
        adapters.filter { $0.program != nil && !$0.isAbsent }.map(\.declaration.name)
    }

    /// Adapters that are declared otherwise, whose program comes or is absent, or runs with rules that leave open what is to be
    /// closed to it.
    fileprivate func changedAdapters(in new: HostPlan) -> [AdapterName] {
        new.adapters.filter { after in
            guard let before = adapters.first(where: { $0.declaration.name == after.declaration.name }) else {
                return true
            }
            return before.declaration != after.declaration || before.isAbsent != after.isAbsent
                || before.upstreams != after.upstreams || before.program !== after.program
                || after.closed.contains { closed in !before.closed.contains { $0.named.file == closed.named.file } }
        }.map(\.declaration.name)
    }

    /// Connection files that say something else at the same path.
    fileprivate func connectionChanges(to new: HostPlan) -> [ConfigurationChange] {
        new.adapters.compactMap { after in
            let name = after.declaration.name
            let key = "adapters.\(name).\(ConfigurableAdapter.connect.path)"
            guard let before = adapters.first(where: { $0.declaration.name == name }),
                let (old, text) = before.connectionText.flatMap({ old in after.connectionText.map { (old, $0) } }),
                old != text, let path = new.resolved[key]?.text, path == resolved[key]?.text
            else { return nil }
            return ConfigurationChange(key: key, old: path, new: "\(path), changed")
        }
    }
}

extension ConfigurationChange {
    private var names: [Substring] { key.split(separator: ".") }

    /// The adapter whose keys it changes.
    var adapter: AdapterName? {
        guard names.count > 1, names[0] == "adapters" else { return nil }
        return AdapterName(String(names[1]))
    }

    fileprivate var provider: ProviderName? {
        guard names.count > 2, names[0] == "identity", names[1] == "providers" else { return nil }
        return ProviderName(String(names[2]))
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
        return change.adapter.flatMap { ofAdded($0) }
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

    private func obstacle(_ name: UpstreamName) -> String? {
        guard let before = old.settings.upstreams[name] else { return nil }
        guard let after = new.settings.upstreams[name] else { return nil }
        return before.actsForCallers == after.actsForCallers
            ? nil : "in whose name an upstream is called changes with a restart only"
    }

    /// Adapters get the operations that another one adds to them when they start.
    func ofAdded(_ name: AdapterName) -> String? {
        func added(_ plan: HostPlan) -> [Set<String>] {
            let planned = plan.adapters.first { $0.declaration.name == name }
            return planned?.adapter.serviceOperations.map(\.names) ?? []
        }
        return added(old) == added(new)
            ? nil : "other adapters use what this one adds to them: this needs a restart"
    }
}
