import AdapterKit

/// Signs in where a portal takes the name and the password, and keeps what the portal gave for calls in that account's
/// name.
package struct PortalProvider: SignInProvider {
    package var name: ProviderName { settings.name }
    let settings: PortalSettings
    let upstream: any UpstreamClient
    let context: IdentityContext
    let accounts: ExternalAccounts
    let signIns: PortalSignIns
    private let turns: FairScheduler

    init(_ settings: PortalSettings, _ upstream: any UpstreamClient, _ context: IdentityContext) {
        self.settings = settings
        self.upstream = upstream
        self.context = context
        accounts = ExternalAccounts(context: context)
        signIns = PortalSignIns(limit: settings.keptSignIns, clock: context.clock)
        let passwords = context.configuration.passwords
        turns = FairScheduler(
            FairQueue.Limits(
                slots: settings.signInsAtOnce, waiting: passwords.waitingHashes, longestWait: passwords.longestWait))
    }

    /// A name that could be no account's is not sent: what one system trims or folds another does not.
    package func verify(_ evidence: SignInEvidence) async throws -> SignInVerdict {
        guard case .password(let username, let password, let address) = evidence, let name = AccountName(username),
            Self.isPlausible(password), let roles = settings.roles.roles(of: []),
            let jar = try await signIn(username, password, from: address)
        else { return .refused }
        let identity = ExternalIdentity(
            provider: self.name, subject: name.folded, name: username, displayName: username, roles: roles,
            asOf: context.clock.now())
        guard let account = try await accounts.account(for: identity) else { return .refused }
        signIns.keep(PortalCredentials(cookies: jar), for: account.id, username: username, password: password)
        return .accepted(ProvenAccount(account))
    }

    /// The cookies of a new sign-in; nil where the portal refuses. Throws where it says neither, and where the turn would
    /// come too late.
    func signIn(_ username: String, _ password: Secret, from address: ClientAddress) async throws -> CookieJar? {
        try await turns.run(for: PasswordShare(address: address, name: username)) {
            try await signIn(username, password)
        }
    }

    private func signIn(_ username: String, _ password: Secret) async throws -> CookieJar? {
        var walk = PortalSignIn(settings, username, password)
        var step = walk.begin(now: context.clock.now())
        while true {
            switch step {
            case .ask(let request):
                step = walk.next(after: try await answer(to: request), now: context.clock.now())
            case .signedIn(let jar): return jar
            case .refused: return nil
            case .failed(let reason):
                throw UpstreamFailure(.broken, of: upstream.name, detail: "\(reason)").asError
            }
        }
    }

    func answer(to request: UpstreamRequest) async throws -> UpstreamResponse {
        do throws(UpstreamFailure) {
            return try await upstream.send(request)
        } catch {
            throw error.asError
        }
    }

    /// An empty password signs in anonymously with some systems behind portals.
    private static func isPlausible(_ password: Secret) -> Bool {
        let bytes = password.reveal().utf8
        return (1...PortalSettings.maximumPassword).contains(bytes.count)
            && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}
