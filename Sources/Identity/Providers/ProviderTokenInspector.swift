import AdapterKit
import JWTKit

/// Checks a provider's token strictly, all but its signature (OpenID Connect Core 1.0, section 3.1.3.7; RFC 9068,
/// section 4; RFC 8725).
struct ProviderTokenInspector: Sendable {
    enum Purpose: Sendable {
        /// An ID token for us, from the code that this nonce went with.
        case identity(nonce: Secret)
        /// An access token for us.
        case access
    }

    let settings: OpenIDConnectSettings

    /// The header, checked, with what it names the key by.
    func header(_ token: String, _ purpose: Purpose) throws(TokenRefusal) -> (
        algorithm: OpenIDConnectSettings.Algorithm, key: String?, claims: ProviderClaims
    ) {
        guard token.utf8.count <= OpenIDConnectSettings.maximumToken else { throw .tooLarge }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && Base64URL.isWellFormed($0) }),
            let parsed = try? DefaultJWTParser().parse(Array(token.utf8), as: ProviderClaims.self)
        else { throw .malformed }
        let header = parsed.header
        guard let algorithm = header.alg.flatMap(OpenIDConnectSettings.Algorithm.init(rawValue:)),
            settings.algorithms.contains(algorithm)
        else { throw .algorithm }
        guard isType(header.typ, purpose) else { throw .type }
        guard header.fields["crit"] == nil else { throw .critical }
        return (algorithm, header.kid, parsed.payload)
    }

    func check(_ claims: ProviderClaims, _ purpose: Purpose, now: WireDate) throws(TokenRefusal) {
        guard claims.text("iss") == settings.issuerText else { throw .issuer }
        try checkAudience(claims, purpose)
        try checkTimes(claims, now: UnixTime(now))
        guard let subject = claims.text("sub"), (1...ExternalIdentity.maximumSubject).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
        else { throw .malformed }
        if case .identity(let nonce) = purpose {
            guard let given = claims.text("nonce"), SecretDigest(of: nonce).matches(Secret(given)) else { throw .nonce }
        }
    }

    /// An ID token has the type `JWT` or none; an access token one that no ID token has.
    private func isType(_ type: String?, _ purpose: Purpose) -> Bool {
        switch purpose {
        case .identity: type == nil || type?.lowercased() == "jwt"
        case .access: type.map { settings.tokenTypes.contains($0.lowercased()) } ?? false
        }
    }

    private func checkAudience(_ claims: ProviderClaims, _ purpose: Purpose) throws(TokenRefusal) {
        guard let audience = claims.all["aud"]?.texts, !audience.isEmpty else { throw .audience }
        switch purpose {
        case .access:
            guard let ours = settings.audience, audience.contains(ours) else { throw .audience }
        case .identity:
            guard audience.contains(settings.clientID) else { throw .audience }
            let party = claims.text("azp")
            guard party == settings.clientID || (!claims.has("azp") && audience.count == 1) else { throw .audience }
        }
    }

    private func checkTimes(_ claims: ProviderClaims, now: UnixTime) throws(TokenRefusal) {
        guard let ends = claims.time("exp"), now < ends else { throw .expired }
        let latest = now + settings.clockSkew
        guard let issued = claims.time("iat"), issued <= latest else { throw .notYetValid }
        if claims.has("nbf") {
            guard let begins = claims.time("nbf"), begins <= latest else { throw .notYetValid }
        }
    }
}

/// Everything a provider's token says. ``ProviderTokenInspector`` decides what of it counts.
struct ProviderClaims: JWTPayload, Equatable {
    let all: ClaimValue

    init(from decoder: any Decoder) throws {
        all = try ClaimValue(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try all.encode(to: encoder)
    }

    func text(_ name: String) -> String? { all[name]?.text }
    func number(_ name: String) -> Double? { all[name]?.number }
    /// A `NumericDate` (RFC 7519, section 2).
    func time(_ name: String) -> UnixTime? { number(name).map { UnixTime(seconds: $0) } }
    func has(_ name: String) -> Bool { all[name] != nil }

    /// The inspector has checked everything before JWTKit is asked for the signature.
    func verify(using algorithm: some JWTAlgorithm) {}
}

/// A member of a token whose kind the provider decides.
indirect enum ClaimValue: Sendable, Equatable, Codable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([ClaimValue])
    case object([String: ClaimValue])
    case null

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([ClaimValue].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: ClaimValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        case .null: try container.encodeNil()
        }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    subscript(name: String) -> ClaimValue? { if case .object(let members) = self { members[name] } else { nil } }

    /// One text or a list of nothing but texts; nil for everything else.
    var texts: [String]? {
        switch self {
        case .text(let text): return [text]
        case .list(let items):
            let texts = items.compactMap(\.text)
            return texts.count == items.count ? texts : nil
        default: return nil
        }
    }

    /// The value at a dotted path: `realm_access.roles`.
    func at(path: String) -> ClaimValue? {
        self[path] ?? path.split(separator: ".").reduce(Optional(self)) { $0?[String($1)] }
    }
}
