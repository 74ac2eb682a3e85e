import HostConfiguration

extension ResolvedConfiguration {
    /// One key of all sources. Which keys there are depends on the adapters, and which adapters on this one.
    ///
    /// `variable`: its name in the environment. Throws ``ConfigurationErrors``.
    init(
        of key: ConfigurationKey, variable: String, _ root: ConfigurationNode, environment: [String: String],
        overrides: [String], secrets: SecretSource
    ) throws {
        self = try ResolvedConfiguration.resolve(
            root.only(key.path[...]), reference: ConfigurationReference([key]),
            environment: environment.filter { $0.key == variable },
            overrides: overrides.filter { $0.hasPrefix("\(key.name)=") }, secrets: secrets
        ).get()
    }
}

extension ConfigurationNode {
    /// The mappings that lead to one key, with nothing beside it.
    fileprivate func only(_ path: ArraySlice<String>) -> ConfigurationNode {
        guard let name = path.first, case .mapping(let entries) = content else { return self }
        var kept = entries.filter { $0.key == name }
        for index in kept.indices { kept[index].value = kept[index].value.only(path.dropFirst()) }
        return ConfigurationNode(.mapping(kept), at: location)
    }
}
