import AdapterKit

/// The way from a name and a password to an account: backoff, then the providers in their order, then the audit log.
struct PasswordProof: Sendable {
    struct Proven: Sendable {
        let account: ProvenAccount
        let provider: ProviderName
    }

    let context: IdentityContext
    let providers: CurrentProviders
    let backoff: BackoffGate

    /// Throws `auth.invalid`, the same whatever is wrong, `auth.throttled`, or what a provider throws.
    func prove(_ username: String, _ password: Secret, from address: ClientAddress) async throws -> Proven {
        let answer = try await backoff.attempt(username, from: address) { priority in
            let answer = try await ask(
                .password(username: username, password, from: address, priority: priority))
            return (answer.outcome, answer)
        }
        switch answer {
        case .accepted(let proven): return proven
        case .undecided(let failure): throw failure
        case .refused:
            try await recordRefusal(of: username, from: address)
            throw IdentityContext.refusal
        }
    }

    private enum Answer {
        case accepted(Proven)
        case refused
        /// Refused by some, and others could not be asked.
        case undecided(PorticoError)

        var outcome: LoginBackoff.Outcome {
            switch self {
            case .accepted: .accepted
            case .refused: .refused
            case .undecided: .undecided
            }
        }
    }

    /// Asks one provider after the other: a failure of one counts where no provider accepts.
    private func ask(_ evidence: SignInEvidence) async throws -> Answer {
        var failure: PorticoError?
        var isRefused = false
        for provider in providers.value.takingPasswords {
            do {
                if case .accepted(let account) = try await provider.verify(evidence) {
                    return .accepted(Proven(account: account, provider: provider.name))
                }
                isRefused = true
            } catch let error as PorticoError {
                failure = failure ?? error
            }
        }
        guard let failure else { return .refused }
        guard isRefused else { throw failure }
        return .undecided(failure)
    }

    /// Names the account only where there is one: otherwise what was typed may be a password.
    private func recordRefusal(of username: String, from address: ClientAddress) async throws {
        let name = AccountName(username)
        let account = try await context.accounts.account(named: name ?? "0")
        try await context.refusals.record(
            AuditEvent(
                .signInRefused, actor: "", subject: name == nil ? "" : account?.id.text ?? "",
                address: address.description), name: LoginBackoff.bounded(username), from: address)
    }
}
