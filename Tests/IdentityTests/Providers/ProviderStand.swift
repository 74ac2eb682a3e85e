import AdapterKit
import Crypto
import CryptoExtras
import Foundation
import IPAddresses
import Identity
import Synchronization
import Upstream
import UpstreamStandIn

/// An identity provider: its configuration, its keys, codes with PKCE, tokens. What a test sets makes it lie.
final class ProviderStand: Sendable {
    struct Grant: Sendable {
        let challenge: String
        let token: Secret
    }

    struct State {
        var key = P256.Signing.PrivateKey()
        var keyID = "k1"
        /// Published beside the key, as they are.
        var otherKeys: [[String: String]] = []
        var grants: [String: Grant] = [:]
        var configuration: [String: String] = [:]
        var namesItself = false
        var isDown = false
        /// Whether its keys never come.
        var isSilent = false
        var takesBasic = true
    }

    static let clientSecret = "client & secret"

    let state = Mutex(State())
    private let started = Mutex<StandIn?>(nil)

    private init() {}

    static func start() async throws -> ProviderStand {
        let stand = ProviderStand()
        let server = try await StandIn { [unowned stand] in stand.answer(to: $0) }
        stand.started.withLock { $0 = server }
        return stand
    }

    var server: StandIn {
        guard let server = started.withLock({ $0 }) else { preconditionFailure("not started") }
        return server
    }

    var issuer: String { server.address + "/realm" }

    func settings(_ adjust: (inout OpenIDConnectSettings) -> Void = { _ in }) throws -> OpenIDConnectSettings {
        guard let callback = UpstreamAddress("https://gateway.example.com/auth/oidc/idp/callback"),
            var settings = OpenIDConnectSettings(
                name: "idp", issuer: issuer, clientID: "portico & co", callback: callback)
        else { throw StandError() }
        settings.clientSecret = Secret(Self.clientSecret)
        settings.audience = "https://gateway.example.com"
        settings.roles.groups = ["staff": ["member"], "chiefs": ["member", "admin"]]
        adjust(&settings)
        return settings
    }

    func upstream() -> HTTPUpstream {
        var settings = UpstreamSettings.loopback([server.address], name: "idp")
        settings.limits.tries = 1
        return HTTPUpstream(settings, log: .discarding)
    }

    private func answer(to request: StandIn.Request) -> StandIn.Answer {
        if state.withLock({ $0.isDown }) { return .plain(503) }
        switch request.path {
        case "/realm/.well-known/openid-configuration": return Self.json(configuration())
        case "/keys" where state.withLock { $0.isSilent }: return .silence
        case "/keys": return Self.json(["keys": keys()])
        case "/token": return token(request)
        default: return .plain(404)
        }
    }

    private func configuration() -> [String: Any] {
        var document: [String: Any] = [
            "issuer": issuer, "authorization_endpoint": server.address + "/authorize?realm=1",
            "token_endpoint": server.address + "/token", "jwks_uri": server.address + "/keys",
        ]
        state.withLock { state in
            for (name, value) in state.configuration { document[name] = value }
            if state.namesItself { document["authorization_response_iss_parameter_supported"] = true }
            if !state.takesBasic { document["token_endpoint_auth_methods_supported"] = ["client_secret_post"] }
        }
        return document
    }

    private func keys() -> [[String: String]] {
        state.withLock { state in
            let point = Array(state.key.publicKey.rawRepresentation)
            let key = [
                "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": state.keyID,
                "x": ForgedToken.encode(Array(point.prefix(32))), "y": ForgedToken.encode(Array(point.suffix(32))),
            ]
            return state.otherKeys + [key]
        }
    }

    /// RFC 6749, section 4.1.3, and RFC 7636, section 4.6.
    private func token(_ request: StandIn.Request) -> StandIn.Answer {
        let form = Self.form(request.text)
        let basic = "portico+%26+co:client+%26+secret"
        let isClient =
            state.withLock { $0.takesBasic }
            ? request["Authorization"] == "Basic " + Data(basic.utf8).base64EncodedString()
            : form["client_id"] == "portico & co" && form["client_secret"] == Self.clientSecret
        guard isClient else { return Self.json(["error": "invalid_client"], 401) }
        let digest = ForgedToken.encode(Array(SHA256.hash(data: Data((form["code_verifier"] ?? "").utf8))))
        // A code is good for one exchange.
        let grant = state.withLock { $0.grants.removeValue(forKey: form["code"] ?? "") }
        guard let grant, grant.challenge == digest, form["grant_type"] == "authorization_code",
            form["redirect_uri"] == "https://gateway.example.com/auth/oidc/idp/callback"
        else { return Self.json(["error": "invalid_grant"], 400) }
        return Self.json(["id_token": grant.token.reveal(), "access_token": "opaque", "token_type": "Bearer"])
    }

    static func form(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                    $0.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? ""
                }
                return (parts[0], parts.count > 1 ? parts[1] : "")
            }, uniquingKeysWith: { $1 })
    }

    static func json(_ object: [String: Any], _ status: Int = 200) -> StandIn.Answer {
        let data = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
        return .plain(status, [("Content-Type", "application/json")], String(decoding: data, as: UTF8.self))
    }
}
