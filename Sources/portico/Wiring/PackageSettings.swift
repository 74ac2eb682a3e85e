import AdapterPackages
import HostConfiguration

/// What packages of adapters must be, and how they are watched.
struct PackageSettings {
    /// One of them must have signed a package; none: it needs no signature.
    let trustedKeys: [PackageKey]
    /// After an upgrade.
    let probation: Duration

    /// Throws ``ConfigurationErrors`` for what is no key.
    init(_ resolved: ResolvedConfiguration) throws {
        trustedKeys = try Self.trustedKeys(resolved)
        probation = resolved["packages.probation"]?.duration ?? .seconds(60)
    }

    /// What decides which installed adapters are used, whose keys are a part of the configuration: it is read before them.
    static func trustedKeys(
        _ root: ConfigurationNode, environment: [String: String], overrides: [String], secrets: SecretSource
    ) throws -> [PackageKey] {
        let key = HostReference.trustedKeys
        return try trustedKeys(
            ResolvedConfiguration.resolve(
                root.only(key.path[...]), reference: ConfigurationReference([key]),
                environment: environment.filter { $0.key == "PORTICO_PACKAGES_TRUSTED_KEYS" },
                overrides: overrides.filter { $0.hasPrefix("\(key.name)=") }, secrets: secrets
            ).get())
    }

    private static func trustedKeys(_ resolved: ResolvedConfiguration) throws -> [PackageKey] {
        try SectionValues("packages", resolved).list("trustedKeys", "Ed25519 keys in base64 or PEM") { PackageKey($0) }
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
