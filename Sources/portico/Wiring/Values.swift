import HostConfiguration

/// Settings by name. A missing one is a mistake in the reference, which has a default for each of them, and traps.
struct Values {
    private let resolved: ResolvedConfiguration

    init(_ resolved: ResolvedConfiguration) {
        self.resolved = resolved
    }

    func text(_ name: String) -> String { require(name, resolved[name]?.text) }
    func integer(_ name: String) -> Int { require(name, resolved[name]?.integer) }
    func flag(_ name: String) -> Bool { require(name, resolved[name]?.flag) }
    func duration(_ name: String) -> Duration { require(name, resolved[name]?.duration) }
    func optionalDuration(_ name: String) -> Duration? { resolved[name]?.duration }
    func size(_ name: String) -> Int { require(name, resolved[name]?.size) }
    func list(_ name: String) -> [ConfigurationValue] { require(name, resolved[name]?.list) }
    func texts(_ name: String) -> [String] { require(name, resolved[name]?.list?.compactMap(\.text)) }

    private func require<Value>(_ name: String, _ value: Value?) -> Value {
        guard let value else { preconditionFailure("\(name) has no default") }
        return value
    }
}
