import AdapterKit
import Crypto
import HTTPTypes
import Identity

/// The sign-ins of the console: from evidence to a session, and from a session's cookie to its caller.
struct ConsoleAuthentication: Sendable {
    let settings: ConsoleSettings
    let state: ConsoleState
    let clock: any WallClock

    private static let prefix = "console"

    /// Whether a request is for the console's own pages and sign-in, which need no credential.
    static func isPage(_ target: RequestTarget) -> Bool {
        target.segments.first == prefix || target.segments == [""]
    }

    /// Whether it is for what is the same for every caller.
    static func isFile(_ target: RequestTarget) -> Bool {
        isPage(target) && !(target.segments.count > 1 && target.segments[1] == "session")
    }

    /// The session whose cookie came with the request. Throws `access.denied` where another page may have sent it, whatever it
    /// does: cookies know no ports, and `SameSite` does not tell ports apart.
    func session(_ cookie: Secret, of request: GatewayRequest) throws(PorticoError) -> ConsoleSession? {
        guard request.isSentByOwnPage else {
            throw PorticoError(.accessDenied, "A session of the console is for its own page.")
        }
        let isActivity = request.headers[.xPorticoBackground] == nil
        return state.withTable { $0.find(cookie, isActivity: isActivity, at: clock.now()) }
    }

    /// What the subject of a session may do now; nil: nothing.
    func role(
        of session: ConsoleSession, _ request: GatewayRequest, _ identity: Identity, _ certificates: AdminCertificates?
    ) async throws -> AdminRole? {
        switch session.subject {
        case .account(let proof):
            guard let account = try await identity.holder(of: proof) else { return nil }
            return role(of: account)
        case .token(let token):
            return try await identity.administration.adminToken(named: token.name) == token ? token.role : nil
        case .certificate(let digest):
            guard let certificates, let shown = request.certificate, Self.digest(shown) == digest else { return nil }
            return certificates.role
        case .link: return .operator
        }
    }

    func role(of account: Account) -> AdminRole? {
        settings.demoAccounts.contains { $0.folded == account.name.folded } ? nil : settings.role(of: account.roles)
    }

    /// The session's caller; its session ends where it may not do any more what it might.
    func caller(
        _ cookie: Secret, _ request: GatewayRequest, _ identity: Identity, _ certificates: AdminCertificates?
    ) async throws -> Caller? {
        guard let session = try session(cookie, of: request) else { return nil }
        guard try await role(of: session, request, identity, certificates) == session.role else {
            state.withTable { _ = $0.end(cookie) }
            return nil
        }
        return Caller(
            principal: Principal(kind: .operator, id: session.actor, name: session.name), authentication: nil,
            sessionCookie: cookie, adminRole: session.role)
    }

    static func digest(_ certificate: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: certificate)) }
}

extension GatewayRequest {
    /// Whether the page of this very address sent it, by a browser's word. Nothing else says so: not even a request that says
    /// nothing.
    var isSentByOwnPage: Bool {
        let (site, sender) = (headers.text(.secFetchSite), headers[.origin])
        let isOwnOrigin = sender.map { !origin.isEmpty && $0.lowercased() == origin.lowercased() }
        guard let site else { return isOwnOrigin ?? false }
        return site == "same-origin" && isOwnOrigin ?? true
    }
}

extension HTTPField.Name {
    /// Of what a page of the console asks by itself again and again, which keeps no session.
    static let xPorticoBackground = HTTPField.Name("X-Portico-Background")!
    static let xPorticoConfirmation = HTTPField.Name("X-Portico-Confirmation")!
}
