import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// For the admin listener: an admin token, a session of the console, or a client certificate. A token wins: it was sent on
/// purpose. Nothing is reached without a credential, whatever it declares, but the console's page and its sign-in.
struct AdminAuthenticator: Authenticator {
    /// Credentials that one address may get wrong in a minute; then it is refused whatever it sends.
    static let failures = 10
    /// Addresses that are counted separately.
    private static let addresses = 10_000

    private(set) var identity: Identity
    private(set) var certificates: AdminCertificates?
    /// Nil: there is no console.
    private(set) var console: ConsoleAuthentication?
    /// By address.
    private let refusals: RateCounter

    /// - Parameter now: Nanoseconds of any steady clock.
    init(
        identity: Identity, certificates: AdminCertificates?, console: ConsoleAuthentication? = nil,
        now: @escaping @Sendable () -> Int64 = RateCounter.uptime
    ) {
        self.identity = identity
        self.certificates = certificates
        self.console = console
        refusals = RateCounter(RateTable(limit: Self.failures, capacity: Self.addresses), now: now)
    }

    /// The same for another configuration; what was counted stays.
    func renewed(
        _ identity: Identity, _ certificates: AdminCertificates?, _ console: ConsoleAuthentication?
    ) -> AdminAuthenticator {
        var renewed = self
        (renewed.identity, renewed.certificates, renewed.console) = (identity, certificates, console)
        return renewed
    }

    /// Throws `auth.required`, `auth.invalid`, `auth.throttled` with the seconds to wait, and `access.denied` where another
    /// page has the browser present what it keeps.
    func caller(of request: GatewayRequest) async throws -> Caller {
        if let field = request.headers[.authorization] { return try await caller(sending: field, request) }
        let isPage = console != nil && ConsoleAuthentication.isPage(request.target)
        if let console, console.settings.cookie.isThere(in: request) {
            let found = try await sessionCaller(console, request, isPage: isPage)
            if isPage { return found ?? .anonymous }
            guard let found else { throw PorticoError(.loginRequired, "The session at the console has ended.") }
            return found
        }
        if isPage { return .anonymous }
        guard let caller = certificateCaller(request) else {
            guard !request.isSentByForeignPage else {
                throw PorticoError(.accessDenied, "A page of another site cannot use a client certificate here.")
            }
            throw PorticoError(.loginRequired, "This needs an admin token or a client certificate.")
        }
        return caller
    }

    func immediateCaller(of request: GatewayRequest) -> Caller? {
        guard request.headers[.authorization] == nil else { return nil }
        if let console {
            if ConsoleAuthentication.isFile(request.target) { return .anonymous }
            if console.settings.cookie.isThere(in: request) { return nil }
            if ConsoleAuthentication.isPage(request.target) { return .anonymous }
        }
        return certificateCaller(request)
    }

    func challenge(_ response: inout GatewayResponse) {
        response.headers[.wwwAuthenticate] = "Bearer realm=\"portico administration\""
    }

    /// The token that the credential is. Throws `auth.invalid`, and `auth.throttled` with the seconds to wait.
    func token(_ credential: Secret, from peer: String) async throws -> AdminToken {
        let address = try requireFewGuesses(from: peer)
        if let token = try await identity.administration.adminToken(credential) { return token }
        throw try await refusal(of: address)
    }

    /// Throws as ``token(_:from:)`` does where `isRight` is false.
    func checkGuess(from peer: String, _ isRight: () -> Bool) async throws {
        let address = try requireFewGuesses(from: peer)
        guard !isRight() else { return }
        throw try await refusal(of: address)
    }

    private func caller(sending field: String, _ request: GatewayRequest) async throws -> Caller {
        let (scheme, value) = field.splitOnce(at: " ")
        let isBearer = scheme.lowercased() == "bearer"
        let token = try await token(Secret(isBearer ? String((value ?? "").trimmingSpaces()) : ""), from: request.peer)
        let name = "token \(token.name)"
        return Caller(
            principal: Principal(kind: .operator, id: name, name: name), authentication: nil, sessionCookie: nil,
            adminRole: token.role)
    }

    /// The peer's address.
    private func requireFewGuesses(from peer: String) throws(PorticoError) -> String {
        let address = clientNetwork(of: peer)
        let standing = refusals.state(of: address)
        guard standing.remaining > 0 else {
            throw PorticoError(
                .loginThrottled, "Too many credentials were wrong. Try later.", retryAfter: max(1, standing.wait))
        }
        return address
    }

    private func refusal(of address: String) async throws -> PorticoError {
        refusals.count(address)
        try await identity.record(AuditEvent(.administrationRefused, actor: "", address: address))
        return PorticoError(.credentialsInvalid, "The credential is not valid.")
    }

    /// Nil where there is no session, or none that this request may use at the console's page.
    private func sessionCaller(
        _ console: ConsoleAuthentication, _ request: GatewayRequest, isPage: Bool
    ) async throws -> Caller? {
        if isPage, !request.isSentByOwnPage { return nil }
        guard let cookie = console.settings.cookie.value(of: request) else { return nil }
        return try await console.caller(cookie, request, identity, certificates)
    }

    /// Nil for what a page of another site has the browser send: the browser presents the certificate by itself.
    private func certificateCaller(_ request: GatewayRequest) -> Caller? {
        guard let certificates, let certificate = request.certificate, !request.isSentByForeignPage else { return nil }
        let name = "certificate \(certificates.name(certificate))"
        return Caller(
            principal: Principal(kind: .operator, id: name, name: name), authentication: nil, sessionCookie: nil,
            adminRole: certificates.role)
    }
}
