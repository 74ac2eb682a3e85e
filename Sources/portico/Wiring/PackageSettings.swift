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
        trustedKeys = try SectionValues("packages", resolved).list("trustedKeys", "Ed25519 keys in base64 or PEM") {
            PackageKey($0)
        }
        probation = resolved["packages.probation"]?.duration ?? .seconds(60)
    }
}
