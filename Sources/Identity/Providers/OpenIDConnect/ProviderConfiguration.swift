import AdapterKit
import Foundation

/// What a provider publishes about itself (OpenID Connect Discovery 1.0, section 3), as far as it is used.
struct ProviderConfiguration: Sendable {
    let authorization: UpstreamAddress
    let token: UpstreamAddress
    let keys: UpstreamAddress
    /// Whether its answers name it (RFC 9207), so that one without a name is refused.
    let namesItself: Bool
    /// Whether the client's secret goes into a header field, which is the default, or into the form.
    let takesBasic: Bool

    /// Nil for a document that is not this issuer's, or whose addresses a browser or we cannot use.
    init?(_ document: ClaimValue, _ settings: OpenIDConnectSettings) {
        guard document["issuer"]?.text == settings.issuerText,
            let authorization = Self.address(document, "authorization_endpoint", settings),
            let token = Self.address(document, "token_endpoint", settings),
            let keys = Self.address(document, "jwks_uri", settings)
        else { return nil }
        self.authorization = authorization
        self.token = token
        self.keys = keys
        namesItself = document["authorization_response_iss_parameter_supported"] == .flag(true)
        let ways = document["token_endpoint_auth_methods_supported"]?.texts
        takesBasic = ways?.contains("client_secret_basic") ?? true
    }

    /// Never without TLS where the issuer has it.
    private static func address(_ document: ClaimValue, _ name: String, _ settings: OpenIDConnectSettings)
        -> UpstreamAddress?
    {
        guard let address = document[name]?.text.flatMap({ UpstreamAddress($0) }) else { return nil }
        return address.origin.isSecure || !settings.issuer.origin.isSecure ? address : nil
    }
}

extension ClaimValue {
    /// Nil for bytes that are no JSON.
    init?(json bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(ClaimValue.self, from: Data(bytes)) else { return nil }
        self = value
    }
}
