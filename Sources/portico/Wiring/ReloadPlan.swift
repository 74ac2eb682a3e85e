import AdapterKit
import Gateway
import HostConfiguration
import Identity
import ODataAdapter
import PlistFeeds
import Upstream

/// What the way from one configuration to another consists of: which keys change, what each of them needs, and what has to
/// be made anew. A pure function of both.
struct ReloadPlan: Sendable {
    /// By key. One with an obstacle needs a restart, and then none of them is made.
    let changes: [ConfigurationChange]
    /// Why an adapter cannot be made anew; nil: each can.
    let obstacle: String?
    /// Those of which another instance is made, for another value of one of their options.
    let adapters: Set<AdapterName>
    /// Those that come, go, or are declared otherwise.
    let membership: AdapterMembership
    let upstreams: Set<UpstreamName>
    /// Ways to sign in that are made anew: those that change, or whose upstream does.
    let providers: Set<ProviderName>
    /// Whether live streams go on: access and limits of sync are the same.
    let keepsSync: Bool

    /// `renewed`: adapters of which another instance is made whether anything has changed or not.
    init(from old: HostPlan, to new: HostPlan, renewing renewed: Set<AdapterName> = []) {
        let found =
            old.resolved.changes(to: new.resolved, new.reference, before: old.reference)
            + old.connectionChanges(to: new)
        let membership = AdapterMembership(from: old.adapters, to: new.adapters)
        self.membership = membership
        adapters = Set(found.compactMap { $0.optionOwner }).union(renewed).union(old.closingMore(in: new))
            .intersection(new.adapters.map(\.declaration.name)).subtracting(membership.fresh)
        let upstreams = Set(found.compactMap { $0.upstream })
        self.upstreams = upstreams
        providers = Set(found.compactMap { $0.provider }).union(
            new.settings.providers.filter { upstreams.contains($0.upstream) }.map(\.name))
        keepsSync =
            old.settings.gateway.sync == new.settings.gateway.sync && old.adapters.count == new.adapters.count
            && zip(old.adapters, new.adapters).allSatisfy {
                $0.declaration == $1.declaration
            }
        let obstacles = Obstacles(old: old, new: new, membership: membership)
        obstacle = renewed.compactMap { obstacles.ofAdded($0) }.first
        changes = found.map { change in
            var change = change
            if let name = change.adapter, membership.comesOrGoes(name) { change.obstacle = nil }
            change.obstacle = change.obstacle ?? obstacles.of(change)
            return change
        }
    }

    var isPossible: Bool { obstacle == nil && changes.allSatisfy { $0.obstacle == nil } }
}

/// Which adapters come and go from one configuration to another.
struct AdapterMembership: Sendable {
    let added: Set<AdapterName>
    let removed: Set<AdapterName>
    /// What they store, mirror or stream is another thing: another adapter of the name takes their place.
    let redeclared: Set<AdapterName>

    init(from old: [HostPlan.PlannedAdapter], to new: [HostPlan.PlannedAdapter]) {
        func byName(_ adapters: [HostPlan.PlannedAdapter]) -> [AdapterName: HostPlan.PlannedAdapter] {
            Dictionary(adapters.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
        }
        let (before, after) = (byName(old), byName(new))
        added = Set(after.keys).subtracting(before.keys)
        removed = Set(before.keys).subtracting(after.keys)
        redeclared = Set(
            after.filter { name, planned in before[name].map { !$0.isSucceeded(by: planned) } ?? false }.keys)
    }

    /// Those that are made anew.
    var fresh: Set<AdapterName> { added.union(redeclared) }

    /// Those that end.
    var ended: Set<AdapterName> { removed.union(redeclared) }

    var isEmpty: Bool { added.isEmpty && ended.isEmpty }

    func comesOrGoes(_ name: AdapterName) -> Bool { added.contains(name) || removed.contains(name) }
}

extension HostPlan.PlannedAdapter {
    /// Whether another instance can take its place. A program that answers again is started as one that is new: nothing
    /// waits for the next attempt of what stood for it.
    fileprivate func isSucceeded(by next: HostPlan.PlannedAdapter) -> Bool {
        declaration.hasSameParts(as: next.declaration) && (absent == nil || next.absent != nil)
    }
}

extension HostPlan {
    /// Adapters whose programs run with rules that leave open what is to be closed to them.
    fileprivate func closingMore(in new: HostPlan) -> [AdapterName] {
        new.adapters.filter { after in
            let before = adapters.first { $0.declaration.name == after.declaration.name }?.closed ?? []
            return after.closed.contains { closed in !before.contains { $0.named.file == closed.named.file } }
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

    /// The adapter whose options it changes; nil for everything else. Access is one for the adapters alone that decide by it
    /// themselves: it is the default of each feed's and service's.
    fileprivate var optionOwner: AdapterName? {
        let option = names.dropFirst(2)
        guard !option.isEmpty, option != ["enabled"] else { return nil }
        if option == ["access"] {
            return adapter == PlistFeedsModule.name || adapter == ODataModule.name ? adapter : nil
        }
        return HostPlan.isRightOfEntity(Array(option.map(String.init))) ? nil : adapter
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
    let membership: AdapterMembership

    func of(_ change: ConfigurationChange) -> String? {
        if beginsOrEndsTLS(change.key) { return "beginning or ending TLS needs a restart" }
        if let name = change.upstream { return obstacle(name) }
        if let name = change.adapter { return obstacle(name, isOption: change.optionOwner != nil) }
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

    /// Push services are made of addresses of their upstreams.
    private func obstacle(_ name: UpstreamName) -> String? {
        guard let before = old.settings.upstreams[name] else { return nil }
        guard !old.settings.push.upstreams.contains(name) else {
            return "push services use the upstream: this needs a restart"
        }
        guard let after = new.settings.upstreams[name] else { return nil }
        return before.actsForCallers == after.actsForCallers
            ? nil : "in whose name an upstream is called changes with a restart only"
    }

    private func obstacle(_ name: AdapterName, isOption: Bool) -> String? {
        isOption || membership.comesOrGoes(name) ? ofAdded(name) : nil
    }

    /// Adapters get the operations that another one adds to them when they start.
    func ofAdded(_ name: AdapterName) -> String? {
        let instances = (old.adapters + new.adapters).filter { $0.declaration.name == name }
        return instances.allSatisfy(\.adapter.serviceOperations.isEmpty)
            ? nil : "other adapters use what this one adds to them: this needs a restart"
    }
}
