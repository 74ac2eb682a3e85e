import AdapterKit
import Identity
import Testing

/// What every way to sign in promises. A provider's suite calls ``run()`` with a stand that has one account whose
/// password is known.
struct SignInProviderConformance {
    let provider: any SignInProvider
    let username: String
    let password: Secret
    let account: AccountID

    func run() async throws {
        try await theRightPasswordIsAccepted()
        try await everythingElseIsRefusedWithoutAnError()
        try await manyAtOnceGetTheirOwnAnswers()
        #expect(ProviderName.isValid(provider.name.text))
    }

    private func theRightPasswordIsAccepted() async throws {
        guard case .accepted(let proven) = try await provider.verify(username: username, password: password) else {
            Issue.record("the right password was refused")
            return
        }
        #expect(proven.id == account)
    }

    private func everythingElseIsRefusedWithoutAnError() async throws {
        let wrong = Secret(password.reveal() + "x")
        let prefix = Secret(String(password.reveal().dropLast()))
        let attempts: [(String, Secret)] = [
            (username, wrong), (username, prefix), (username, Secret("")), ("", password), ("nobody-at-all", password),
            (username + "\u{0}", password), (username, Secret(String(repeating: "x", count: 1 << 20))),
            (String(repeating: "x", count: 1 << 20), password), (username, Secret("\u{0}")), ("' OR '1'='1", password),
        ]
        for (name, secret) in attempts {
            #expect(try await provider.verify(username: name, password: secret) == .refused)
        }
    }

    private func manyAtOnceGetTheirOwnAnswers() async throws {
        let wrong = Secret(password.reveal() + "x")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let verdict = try await provider.verify(
                        username: username, password: number % 2 == 0 ? password : wrong)
                    return (verdict == .refused) == (number % 2 == 1)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
