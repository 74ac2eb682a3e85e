import AdapterKit

/// One setting that differs between the configuration that is used and another one.
public struct ConfigurationChange: Sendable, Equatable {
    /// Names joined by dots.
    public let key: String
    /// As one would write it, secrets left out; nil: nothing.
    public let old: String?
    public let new: String?
    /// Where the new value stands; nil for a default or for nothing.
    public let location: ConfigurationLocation?
    /// Why the change cannot be made while the gateway runs; nil: it can.
    public var obstacle: String?

    public init(
        key: String, old: String?, new: String?, location: ConfigurationLocation? = nil, obstacle: String? = nil
    ) {
        self.key = key
        self.old = old
        self.new = new
        self.location = location
        self.obstacle = obstacle
    }
}

extension ResolvedConfiguration {
    /// What differs in `new`, by key. A key that needs a restart by `reference` has an obstacle. Defaults of keys that come or go
    /// with an adapter are no change.
    ///
    /// `old`: the reference of this one, which may have keys that have gone.
    public func changes(
        to new: ResolvedConfiguration, _ reference: ConfigurationReference, before old: ConfigurationReference? = nil
    ) -> [ConfigurationChange] {
        let (before, after) = (byKey, new.byKey)
        func isNamed(_ path: [String], in configuration: Self) -> Bool {
            reference.whereNamed.contains(path)
                ? configuration.names(path) : configuration.emptyMappings.contains(path)
        }
        let named = emptyMappings.symmetricDifference(new.emptyMappings).filter { reference.isNamedFreely($0) }
            .union(reference.whereNamed)
            .filter { isNamed($0, in: self) != isNamed($0, in: new) }
        let mappings = named.map { path in
            ConfigurationChange(
                key: path.joined(separator: "."), old: isNamed(path, in: self) ? "{}" : nil,
                new: isNamed(path, in: new) ? "{}" : nil,
                obstacle: reference.keys.first { $0.isBelow(path) && !$0.reloads }?.obstacle)
        }
        return mappings.sorted { $0.key < $1.key }
            + Set(before.keys).union(after.keys).sorted().compactMap { key in
                guard before[key]?.value != after[key]?.value else { return nil }
                if before[key] == nil || after[key] == nil, (before[key] ?? after[key])?.location == nil { return nil }
                let path = after[key]?.path ?? before[key]?.path ?? []
                let known = reference.key(for: path) ?? old?.key(for: path)
                return ConfigurationChange(
                    key: key, old: before[key]?.value.written, new: after[key]?.value.written,
                    location: after[key]?.location,
                    obstacle: known?.obstacle)
            }
    }

    /// Every setting, by key; what is not configured has its default.
    public var all: [(key: String, setting: Setting)] {
        byKey.sorted { $0.key < $1.key }.map { (key: $0.key, setting: $0.value) }
    }
}

extension ConfigurationKey {
    fileprivate var obstacle: String? { restartReason.map { "needs a restart: \($0)" } }
}

extension ConfigurationValue {
    /// As one would write it on a command line, secrets left out.
    public var written: String {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .number(let number): number.description
        case .flag(let flag): flag ? "true" : "false"
        case .duration(let duration): Self.text(of: duration)
        case .size(let size): Self.text(of: size)
        case .access(let access): access.text
        case .secret(let secret): secret.description
        case .list(let items): "[\(items.map(\.written).joined(separator: ", "))]"
        case .mapping(let members):
            "{\(members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.written)" }.joined(separator: ", "))}"
        }
    }

    /// In the largest unit in which it is a whole number.
    private static func text(of duration: Duration) -> String {
        let (seconds, rest) = duration.components
        guard rest == 0 else { return "\(Int64((duration / .milliseconds(1)).rounded()))ms" }
        for (unit, size) in [("d", 86_400), ("h", 3_600), ("m", 60)] as [(String, Int64)]
        where seconds > 0 && seconds % size == 0 { return "\(seconds / size)\(unit)" }
        return "\(seconds)s"
    }

    private static func text(of size: Int) -> String {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] where size > 0 && size % (1 << shift) == 0 {
            return "\(size >> shift)\(unit)"
        }
        return String(size)
    }
}
