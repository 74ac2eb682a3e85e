import AdapterKit

/// The way from a name and a password to an account: backoff, then the providers in their order, then the audit log.
struct PasswordProof: Sendable {
    struct Proven: Sendable {
        let account: ProvenAccount
        let provider: ProviderName
    }

    let context: IdentityContext
    let providers: [any SignInProvider]
    let backoff: BackoffGate

    /// Throws `auth.invalid`, the same whatever is wrong, `auth.throttled`, or what a provider throws.
    func prove(_ username: String, _ password: Secret, from address: ClientAddress) async throws -> Proven {
        let proven = try await backoff.attempt(username, from: address) { try await ask(username, password) }
        if let proven { return proven }
        try await recordRefusal(of: username, from: address)
        throw IdentityContext.refusal
    }

    /// What one provider cannot say for lack of its system, another may: its failure counts where nobody accepts.
    private func ask(_ username: String, _ password: Secret) async throws -> Proven? {
        var failure: PorticoError?
        for provider in providers {
            do {
                if case .accepted(let account) = try await provider.verify(.password(username: username, password)) {
                    return Proven(account: account, provider: provider.name)
                }
            } catch let error as PorticoError {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Names the account only where there is one: otherwise what was typed may be a password.
    private func recordRefusal(of username: String, from address: ClientAddress) async throws {
        let name = AccountName(username)
        let account = try await context.accounts.account(named: name ?? "0")
        try await context.writes.record(
            AuditEvent(
                .signInRefused, actor: "", subject: name == nil ? "" : account?.id.text ?? "",
                address: address.description))
    }
}
