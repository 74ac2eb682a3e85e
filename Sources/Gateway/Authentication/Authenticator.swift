import AdapterKit
import HTTPTypes
import Identity
import Synchronization
import ValueTree

/// Resolves the credentials of a request to its caller.
protocol Authenticator: Sendable {
    /// Throws `auth.invalid` for a credential that was sent in a header field and is not valid.
    func caller(of request: GatewayRequest) async throws -> Caller

    /// The caller where memory knows it; nil where the credential has to be looked up, or is not one.
    func immediateCaller(of request: GatewayRequest) -> Caller?

    /// Adds what a 401 must say (RFC 9110, section 11.6.1).
    func challenge(_ response: inout GatewayResponse)
}

/// Bearer tokens, the session cookie, and Basic where it is allowed.
///
/// A header field wins over the cookie: it was sent on purpose. A cookie that is not valid any more counts as none, so
/// that public pages stay readable.
struct IdentityAuthenticator: Authenticator {
    let identity: Identity
    let cookie: SessionCookieSettings
    let allowsBasic: Bool
    private let bearers = CredentialNames()
    private let sessions = CredentialNames()

    init(identity: Identity, cookie: SessionCookieSettings, allowsBasic: Bool) {
        self.identity = identity
        self.cookie = cookie
        self.allowsBasic = allowsBasic
    }

    func caller(of request: GatewayRequest) async throws -> Caller {
        try refuseSecrets(in: request.target)
        let cookie = request.headers[.cookie].flatMap { CookieField($0)[self.cookie.name] }.map { Secret($0) }
        if let field = request.headers[.authorization] {
            guard let found = try await authentication(field, from: request.peer) else {
                throw PorticoError(.credentialsInvalid, problem(of: field))
            }
            return Caller(principal: found.principal, authentication: found, sessionCookie: nil)
        }
        guard let cookie, let found = try await identity.authentication(sessionCookie: cookie) else {
            return .anonymous
        }
        return Caller(principal: found.principal, authentication: found, sessionCookie: cookie)
    }

    func immediateCaller(of request: GatewayRequest) -> Caller? {
        guard (try? refuseSecrets(in: request.target)) != nil else { return nil }
        if let field = request.headers.text(.authorization) {
            guard let name = bearers.name(of: field, read: bearer) else { return nil }
            return knownCaller(name)
        }
        guard let field = request.headers.text(.cookie),
            let name = sessions.name(of: field, read: session)
        else { return .anonymous }
        return knownCaller(name)
    }

    private func knownCaller(_ name: CredentialNames.Name) -> Caller? {
        guard let found = identity.knownAuthentication(name.key) else { return nil }
        return Caller(principal: found.principal, authentication: found, sessionCookie: name.sessionCookie)
    }

    private func bearer(_ field: String) -> CredentialNames.Name? {
        let (scheme, value) = field.splitOnce(at: " ")
        guard scheme == "Bearer", let credential = value?.trimmingSpaces() else { return nil }
        return .init(key: identity.key(bearer: Secret(String(credential))), sessionCookie: nil)
    }

    private func session(_ field: String) -> CredentialNames.Name? {
        guard let value = CookieField(field)[cookie.name].map({ Secret($0) }) else { return nil }
        return .init(key: identity.key(sessionCookie: value), sessionCookie: value)
    }

    func challenge(_ response: inout GatewayResponse) {
        // One field: a browser would ask for a name and a password by itself where Basic has a field of its own.
        response.headers[.wwwAuthenticate] =
            allowsBasic
            ? "Bearer realm=\"portico\", Basic realm=\"portico\", charset=\"UTF-8\"" : "Bearer realm=\"portico\""
    }

    private func authentication(_ field: String, from peer: String) async throws -> Authentication? {
        let (scheme, value) = field.splitOnce(at: " ")
        guard let credential = value?.trimmingSpaces(), !credential.isEmpty else { return nil }
        switch scheme.lowercased() {
        case "bearer": return try await identity.authentication(bearer: Secret(String(credential)))
        case "basic" where allowsBasic:
            guard let decoded = Base64.decode(String(credential)).flatMap({ String(validating: $0, as: UTF8.self) })
            else { return nil }
            let (name, password) = decoded.splitOnce(at: ":")
            guard let password else { return nil }
            return try await identity.authentication(
                basic: String(name), Secret(String(password)), from: ClientAddress(peer))
        default: return nil
        }
    }

    /// As a sentence. Of a credential that could be one it is not said what is wrong.
    private func problem(of field: String) -> String {
        switch field.splitOnce(at: " ").0.lowercased() {
        case "bearer": "The credential is not valid."
        case "basic" where allowsBasic: "The credential is not valid."
        case "basic":
            "Basic is switched off here (identity.basic.enabled). Sign in at POST /auth/login and send the accessToken of "
                + "its answer: `Authorization: Bearer TOKEN`."
        default: "This scheme is not taken. Send the token of POST /auth/login: `Authorization: Bearer TOKEN`."
        }
    }

    private static let secrets: Set<String> = [
        "password", "j_password", "passwd", "pwd", "access_token", "accesstoken", "refresh_token", "refreshtoken",
        "api_key", "apikey", "client_secret", "authorization",
    ]

    /// A password in an address ends in logs and histories, so it is refused even where it is right.
    private func refuseSecrets(in target: RequestTarget) throws(PorticoError) {
        guard target.query.contains(where: { Self.secrets.contains($0.name.lowercased()) }) else { return }
        throw PorticoError(.secretInURL, "A password or token must not be sent in an address.")
    }
}

/// For the admin socket: permission to open the socket is the credential.
struct OperatorAuthenticator: Authenticator {
    private static let caller = Caller(
        principal: Principal(kind: .operator, id: "operator", name: "operator"), authentication: nil,
        sessionCookie: nil, adminRole: .admin)

    func caller(of request: GatewayRequest) async throws -> Caller { Self.caller }

    func immediateCaller(of request: GatewayRequest) -> Caller? { Self.caller }

    func challenge(_ response: inout GatewayResponse) {}
}

/// What memory finds credentials by, for the header fields that named them last. Making it from a token costs more than
/// everything else that memory is asked (``Identity/key(bearer:)``).
///
/// It says nothing about whether a credential is valid: memory is asked that with every request. A field is found by its
/// keyed hash, so how long a look-up takes tells nothing about its text.
final class CredentialNames: Sendable {
    struct Name {
        let key: CredentialKey
        /// Where the credential is one.
        let sessionCookie: Secret?
    }

    /// Fields that are remembered; the oldest half of more goes.
    static let capacity = 2_048
    /// Bytes of a field. Longer ones are read anew.
    static let longest = 2 << 10

    /// Two generations: a field that is used moves to the recent one.
    private struct Fields {
        var recent: [String: Name] = [:]
        var old: [String: Name] = [:]

        mutating func find(_ field: String) -> Name? {
            if let name = recent[field] { return name }
            guard let name = old[field] else { return nil }
            add(name, field)
            return name
        }

        mutating func add(_ name: Name, _ field: String) {
            if recent.count >= capacity / 2 { (old, recent) = (recent, [:]) }
            recent[field] = name
        }
    }

    private let fields = Mutex(Fields())

    /// What `read` makes of the field, or made of the same field before. Nil is not remembered.
    func name(of field: String, read: (String) -> Name?) -> Name? {
        guard field.utf8.count <= Self.longest else { return read(field) }
        if let known = fields.withLock({ $0.find(field) }) { return known }
        guard let name = read(field) else { return nil }
        fields.withLock { $0.add(name, field) }
        return name
    }
}
