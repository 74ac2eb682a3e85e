import AdapterPackages
import HostConfiguration

/// What packages of adapters must be, and how they are watched.
struct PackageSettings {
    static let trustedKeysKey = ConfigurationKey(
        "packages.trustedKeys", .list(of: .text), default: "[]",
        "Ed25519 keys, in base64 or PEM, one of which must have signed a package, at each start too; none: a signature is not needed."
    )

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
        try trustedKeys(
            ResolvedConfiguration(
                of: trustedKeysKey, variable: "PORTICO_PACKAGES_TRUSTED_KEYS", root,
                environment: environment, overrides: overrides, secrets: secrets))
    }

    private static func trustedKeys(_ resolved: ResolvedConfiguration) throws -> [PackageKey] {
        try SectionValues("packages", resolved).list("trustedKeys", "Ed25519 keys in base64 or PEM") { PackageKey($0) }
    }
}
