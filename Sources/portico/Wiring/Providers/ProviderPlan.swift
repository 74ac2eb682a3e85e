import AdapterKit
import HostConfiguration
import Identity
import Upstream

/// One configured way to sign in: what it is, and how its system is reached.
struct ProviderPlan {
    enum Kind {
        case portal(PortalSettings)
        case openIDConnect(OpenIDConnectSettings)
    }

    let kind: Kind
    let upstream: UpstreamSettings

    /// By name, which is also the order in which passwords are tried.
    static func all(_ resolved: ResolvedConfiguration) throws -> [ProviderPlan] {
        let names = Set(resolved.settings(below: "identity.providers").compactMap(\.path.first)).sorted()
        return try names.map { text in
            guard let name = ProviderName(text), text != "local" else {
                throw Refusal(
                    "identity.providers.\(text): a name has small letters, digits and hyphens, and is not local.")
            }
            return try ProviderPlan(ProviderValues(name, resolved))
        }
    }

    private init(_ values: ProviderValues) throws {
        let place: UpstreamAddress
        switch try values.text("kind") {
        case "portal":
            let settings = try PortalSettings(values)
            kind = .portal(settings)
            place = settings.form
        default:
            let settings = try OpenIDConnectSettings(values)
            kind = .openIDConnect(settings)
            place = settings.issuer
        }
        upstream = try UpstreamSettings(values, at: place)
    }

    func setup(_ client: any UpstreamClient) -> ProviderSetup {
        switch kind {
        case .portal(let settings): .portal(settings, client)
        case .openIDConnect(let settings): .openIDConnect(settings, client)
        }
    }
}

extension UpstreamSettings {
    init(_ values: ProviderValues, at place: UpstreamAddress) throws {
        let further = try values.list("servers", "http or https addresses", { UpstreamAddress($0)?.origin })
        self.init(name: UpstreamName(unchecked: values.name.text), origins: Set(further + [place.origin]))
        privateNetworks = try values.list("networks", "networks such as 10.1.0.0/16", { AddressRange($0) })
        trustedCertificates = try values.list("certificates", "files", { $0 })
        limits = UpstreamLimits(values)
    }
}

extension UpstreamLimits {
    fileprivate init(_ values: ProviderValues) {
        self.init()
        deadline = values["deadline"]?.duration ?? deadline
        connect = values["limits.connect"]?.duration ?? connect
        answer = values["limits.answer"]?.size ?? answer
        head = values["limits.head"]?.size ?? head
        connections = values["limits.connections"]?.integer ?? connections
        calls = values["limits.calls"]?.integer ?? calls
        tries = values["limits.tries"]?.integer ?? tries
        failures = values["limits.failures"]?.integer ?? failures
        rest = values["limits.rest"]?.duration ?? rest
        longestRest = values["limits.longestRest"]?.duration ?? longestRest
    }
}
