import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// Resolves the credentials of a request to its caller.
protocol Authenticator: Sendable {
    /// Throws `auth.invalid` for a credential that was sent in a header field and is not valid.
    func caller(of request: GatewayRequest) async throws -> Caller

    /// The caller where memory knows it; nil where the credential has to be looked up, or is not one.
    func immediateCaller(of request: GatewayRequest, _ credential: inout ConnectionCredential) -> Caller?

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

    func caller(of request: GatewayRequest) async throws -> Caller {
        try refuseSecrets(in: request.target)
        let cookie = request.headers[.cookie].flatMap { CookieField($0)[self.cookie.name] }.map { Secret($0) }
        if let field = request.headers[.authorization] {
            guard let found = try await authentication(field, from: request.peer) else {
                throw PorticoError(.credentialsInvalid, "The credential is not valid.")
            }
            return Caller(principal: found.principal, authentication: found, sessionCookie: nil)
        }
        guard let cookie, let found = try await identity.authentication(sessionCookie: cookie) else {
            return .anonymous
        }
        return Caller(principal: found.principal, authentication: found, sessionCookie: cookie)
    }

    func immediateCaller(of request: GatewayRequest, _ credential: inout ConnectionCredential) -> Caller? {
        guard (try? refuseSecrets(in: request.target)) != nil else { return nil }
        if let field = request.headers.text(.authorization) {
            guard let name = credential.name(in: field, isCookie: false, read: bearer) else { return nil }
            return known(name)
        }
        guard let field = request.headers.text(.cookie),
            let name = credential.name(in: field, isCookie: true, read: session)
        else { return .anonymous }
        return known(name)
    }

    private func known(_ name: ConnectionCredential.Name) -> Caller? {
        guard let found = identity.knownAuthentication(name.key) else { return nil }
        return Caller(principal: found.principal, authentication: found, sessionCookie: name.sessionCookie)
    }

    private func bearer(_ field: String) -> ConnectionCredential.Name? {
        let (scheme, value) = field.splitOnce(at: " ")
        guard scheme == "Bearer", let credential = value?.trimmingSpaces() else { return nil }
        return .init(key: identity.key(bearer: Secret(String(credential))), sessionCookie: nil)
    }

    private func session(_ field: String) -> ConnectionCredential.Name? {
        guard let value = CookieField(field)[cookie.name].map({ Secret($0) }) else { return nil }
        return .init(key: identity.key(sessionCookie: value), sessionCookie: value)
    }

    func challenge(_ response: inout GatewayResponse) {
        response.headers[.wwwAuthenticate] =
            allowsBasic
            ? "Bearer realm=\"portico\", Basic realm=\"portico\", charset=\"UTF-8\"" : "Bearer realm=\"portico\""
    }

    private func authentication(_ field: String, from peer: String) async throws -> Authentication? {
        let (scheme, value) = field.splitOnce(at: " ")
        guard let credential = value?.trimmingSpaces(), !credential.isEmpty else { return nil }
        switch scheme.lowercased() {
        case "bearer": return try await identity.authentication(bearer: Secret(String(credential)))
        case "basic":
            guard let decoded = Base64.decode(String(credential)).flatMap({ String(validating: $0, as: UTF8.self) })
            else { return nil }
            let (name, password) = decoded.splitOnce(at: ":")
            guard let password else { return nil }
            return try await identity.authentication(
                basic: String(name), Secret(String(password)), from: ClientAddress(peer))
        default: return nil
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
    func caller(of request: GatewayRequest) async throws -> Caller {
        Caller(
            principal: Principal(kind: .operator, id: "operator", name: "operator"), authentication: nil,
            sessionCookie: nil)
    }

    func immediateCaller(of request: GatewayRequest, _ credential: inout ConnectionCredential) -> Caller? { nil }

    func challenge(_ response: inout GatewayResponse) {}
}

/// The field that a connection's last request named its caller with, and what memory finds that credential by. The next
/// request mostly brings the same field, and hashing it costs more than everything else that memory is asked.
///
/// It says nothing about whether the credential is valid: memory is asked that with every request.
struct ConnectionCredential {
    struct Name {
        let key: CredentialKey
        /// Where the credential is one.
        let sessionCookie: Secret?
    }

    private var last: (field: Secret, name: Name)?

    /// What `read` makes of the field, or made of the same field before. Nil is not remembered.
    mutating func name(in field: String, isCookie: Bool, read: (String) -> Name?) -> Name? {
        if let last, (last.name.sessionCookie != nil) == isCookie, last.field.reveal().isSameInConstantTime(as: field) {
            return last.name
        }
        let name = read(field)
        last = name.map { (Secret(field), $0) }
        return name
    }
}

extension String {
    /// Takes the same time wherever the difference is, so that a credential cannot be found byte by byte. The length is
    /// not hidden, nor that both are one and the same object.
    func isSameInConstantTime(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Texts of other than contiguous bytes do not come from the network.
        let isSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.baseAddress == right.baseAddress
                    || UnsafeRawBufferPointer(left).isSameInConstantTime(as: UnsafeRawBufferPointer(right))
            }
        }
        return (isSame ?? nil) ?? false
    }
}

extension UnsafeRawBufferPointer {
    /// Takes the same time wherever the difference is. The length is not hidden.
    func isSameInConstantTime(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        let words = count / 8
        var difference: UInt64 = 0
        for word in 0..<words {
            difference |=
                loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
        }
        for byte in words * 8..<count { difference |= UInt64(self[byte] ^ other[byte]) }
        return difference == 0
    }
}
