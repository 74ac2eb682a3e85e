import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// What a verified client certificate means at the admin listener.
public struct AdminCertificates: Sendable {
    /// `admin.certificateRole`
    public let role: AdminRole
    /// The subject's name in a certificate (DER), for the audit log.
    public let name: @Sendable ([UInt8]) -> String

    public init(role: AdminRole, name: @escaping @Sendable ([UInt8]) -> String) {
        self.role = role
        self.name = name
    }
}

/// For the admin listener: an admin token, or a client certificate. A token wins: it was sent on purpose. There is no
/// anonymous caller, so no route is reached without a credential, whatever it declares.
struct AdminAuthenticator: Authenticator {
    /// Credentials that one address may get wrong in a minute; then it is refused whatever it sends.
    static let failures = 10
    /// Addresses that are counted separately.
    private static let addresses = 10_000

    private var identity: Identity
    private var certificates: AdminCertificates?
    /// By address.
    private let refusals: RateCounter

    /// - Parameter now: Nanoseconds of any steady clock.
    init(
        identity: Identity, certificates: AdminCertificates?, now: @escaping @Sendable () -> Int64 = RateCounter.uptime
    ) {
        self.identity = identity
        self.certificates = certificates
        refusals = RateCounter(RateTable(limit: Self.failures, capacity: Self.addresses), now: now)
    }

    /// The same for another configuration; what was counted stays.
    func renewed(_ identity: Identity, _ certificates: AdminCertificates?) -> AdminAuthenticator {
        var renewed = self
        renewed.identity = identity
        renewed.certificates = certificates
        return renewed
    }

    /// Throws `auth.required`, `auth.invalid`, and `auth.throttled` with the seconds to wait.
    func caller(of request: GatewayRequest) async throws -> Caller {
        if let field = request.headers[.authorization] { return try await caller(sending: field, request) }
        guard let caller = certificateCaller(request) else {
            guard !request.isSentByForeignPage else {
                throw PorticoError(.accessDenied, "A page of another site cannot use a client certificate here.")
            }
            throw PorticoError(.loginRequired, "This needs an admin token or a client certificate.")
        }
        return caller
    }

    func immediateCaller(of request: GatewayRequest) -> Caller? {
        request.headers[.authorization] == nil ? certificateCaller(request) : nil
    }

    func challenge(_ response: inout GatewayResponse) {
        response.headers[.wwwAuthenticate] = "Bearer realm=\"portico administration\""
    }

    private func caller(sending field: String, _ request: GatewayRequest) async throws -> Caller {
        let address = clientNetwork(of: request.peer)
        let standing = refusals.state(of: address)
        guard standing.remaining > 0 else {
            throw PorticoError(
                .loginThrottled, "Too many credentials were wrong. Try later.", retryAfter: max(1, standing.wait))
        }
        let (scheme, value) = field.splitOnce(at: " ")
        if scheme.lowercased() == "bearer", let value,
            let token = try await identity.administration.adminToken(Secret(String(value.trimmingSpaces())))
        {
            let name = "token \(token.name)"
            return Caller(
                principal: Principal(kind: .operator, id: name, name: name), authentication: nil, sessionCookie: nil,
                adminRole: token.role)
        }
        refusals.count(address)
        try await identity.record(AuditEvent(.administrationRefused, actor: "", address: address))
        throw PorticoError(.credentialsInvalid, "The credential is not valid.")
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
