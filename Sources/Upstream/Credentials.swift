import AdapterKit
import Crypto
import CryptoExtras
import WireFormats

/// The credentials of an upstream's calls.
public enum UpstreamCredentials: Sendable {
    case none
    /// RFC 7617.
    case basic(username: String, password: Secret)
    /// RFC 6750, with a token that does not change.
    case bearer(Secret)
    /// A header field of the system's own.
    case apiKey(header: String, value: Secret)
    /// Client credentials (RFC 6749, section 4.4).
    case oauth2(TokenEndpoint, scopes: [String])
    /// An assertion that is signed here (RFC 7523, section 2.1).
    case jwtBearer(JWTBearer)
    /// In the caller's name: the caller's identity, as a token of this gateway, for one of the upstream (RFC 8693).
    case exchange(TokenEndpoint, audience: String)

    /// As the configuration names it.
    public var kind: String {
        switch self {
        case .none: "none"
        case .basic: "basic"
        case .bearer: "bearer"
        case .apiKey: "apiKey"
        case .oauth2: "oauth2"
        case .jwtBearer: "jwtBearer"
        case .exchange: "exchange"
        }
    }

    /// The server that issues tokens; nil: none is asked.
    public var tokenURL: UpstreamAddress? {
        switch self {
        case .oauth2(let endpoint, _), .exchange(let endpoint, _): endpoint.url
        case .jwtBearer(let bearer): bearer.tokenURL
        default: nil
        }
    }
}

/// A token endpoint, with what this gateway is there (RFC 6749, section 3.2).
public struct TokenEndpoint: Sendable {
    public var url: UpstreamAddress
    public var clientID: String
    public var clientSecret: Secret

    public init(url: UpstreamAddress, clientID: String, clientSecret: Secret) {
        self.url = url
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// RFC 6749, section 2.3.1: both halves are escaped as in a form first.
    var authorization: String {
        let pair = FormFields.escape(clientID) + ":" + FormFields.escape(clientSecret.reveal())
        return "Basic " + String(decoding: Base64.encode(Array(pair.utf8)), as: UTF8.self)
    }
}

/// A signed assertion that stands for a token (RFC 7523), as service accounts of Google and others have it.
public struct JWTBearer: Sendable {
    /// The assertion's audience too.
    public var tokenURL: UpstreamAddress
    public var issuer: String
    public var scopes: [String]
    private let key: SigningKey

    private enum SigningKey: Sendable {
        case es256(P256.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)
    }

    /// Seconds for which an assertion holds.
    static let lifetime: Int64 = 300

    /// `key`: of P-256 or of RSA with 2,048 bits at least, in PEM. Nil where it is neither.
    public init?(tokenURL: UpstreamAddress, issuer: String, scopes: [String], key: Secret) {
        self.tokenURL = tokenURL
        self.issuer = issuer
        self.scopes = scopes
        let pem = key.reveal()
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
            self.key = .es256(key)
        } else if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem), key.keySizeInBits >= 2_048 {
            self.key = .rs256(key)
        } else {
            return nil
        }
    }

    /// `now`: seconds since 1970.
    func assertion(now: Int64) throws -> Secret {
        var claims: WireDictionary = [
            "iss": .string(issuer), "sub": .string(issuer), "aud": .string(tokenURL.description), "iat": .int64(now),
            "exp": .int64(now + Self.lifetime),
        ]
        if !scopes.isEmpty { claims["scope"] = .string(scopes.joined(separator: " ")) }
        let header: WireValue = ["alg": .string(algorithm), "typ": "JWT"]
        let parts = try [header, .dictionary(claims)].map { Base64URL.encode(try JSONFormat().write($0)) }
        let text = parts.joined(separator: ".")
        return Secret("\(text).\(Base64URL.encode(try signature(of: Array(text.utf8))))")
    }

    private var algorithm: String {
        switch key {
        case .es256: "ES256"
        case .rs256: "RS256"
        }
    }

    private func signature(of bytes: [UInt8]) throws -> [UInt8] {
        switch key {
        case .es256(let key): Array(try key.signature(for: bytes).rawRepresentation)
        case .rs256(let key): Array(try key.signature(for: bytes, padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }
}

/// A token that an endpoint issued (RFC 6749, section 5.1).
struct IssuedToken: Sendable {
    let token: Secret
    let lifetime: Duration

    /// Seconds that count where the endpoint says nothing.
    static let usualLifetime = 300.0

    /// Nil for a body that is no such document, or whose token cannot stand in a header field.
    init?(_ body: [UInt8]) {
        guard body.count <= 64 << 10, let document = try? JSONFormat().read(body),
            let token = document["access_token"]?.stringValue, !token.isEmpty,
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let type = document["token_type"]?.stringValue?.lowercased()
        guard type == nil || type == "bearer" || type == "n_a" else { return nil }
        let said = document["expires_in"].flatMap { $0.doubleValue ?? $0.int64Value.map(Double.init) }
        let seconds = said.flatMap { $0.isFinite && $0 >= 0 ? min($0, 86_400) : nil } ?? Self.usualLifetime
        self.token = Secret(token)
        lifetime = .seconds(seconds)
    }
}
