import AdapterKit
import Identity
import Testing

/// What every way to sign in promises. A provider's suite calls ``run()`` with evidence that is right each time it is
/// asked for, and with what looks like it and is wrong.
struct SignInProviderConformance {
    let provider: any SignInProvider
    let wrong: [SignInEvidence]
    let right: @Sendable () async throws -> SignInEvidence

    init(
        provider: any SignInProvider, wrong: [SignInEvidence],
        right: @escaping @Sendable () async throws -> SignInEvidence
    ) {
        self.provider = provider
        self.wrong = wrong
        self.right = right
    }

    func run() async throws {
        #expect(ProviderName.isValid(provider.name.text))
        let account = try await theRightEvidenceIsTheSameAccountEachTime()
        try await everythingElseIsRefusedWithoutAnError()
        try await manyAtOnceGetTheirOwnAnswers(account)
    }

    private func theRightEvidenceIsTheSameAccountEachTime() async throws -> AccountID? {
        let first = try await provider.verify(try await right()).account
        #expect(first != nil)
        #expect(try await provider.verify(try await right()).account == first)
        return first
    }

    private func everythingElseIsRefusedWithoutAnError() async throws {
        for (number, evidence) in (wrong + Self.rubbish).enumerated() {
            #expect(try await provider.verify(evidence) == .refused, "evidence \(number)")
        }
    }

    private func manyAtOnceGetTheirOwnAnswers(_ account: AccountID?) async throws {
        let wrong = try #require(wrong.first)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let verdict = try await provider.verify(number % 2 == 0 ? try await right() : wrong)
                    return verdict.account == (number % 2 == 0 ? account : nil)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    /// Wrong for everybody, and of every kind, those included that a provider does not know.
    private static let rubbish: [SignInEvidence] =
        ["", "\u{0}", "x", "a.b.c", "..", "' OR '1'='1", "\u{e9}", "a\r\nb: c", String(repeating: "x", count: 1 << 20)]
        .flatMap { text -> [SignInEvidence] in
            [
                .password(username: text, Secret(text)), .password(username: "nobody-at-all", Secret(text)),
                .bearer(Secret(text)), .authorizationCode(Secret(text), verifier: Secret(text), nonce: Secret(text)),
            ]
        }

    /// What is like a right pair and is not.
    static func passwords(_ username: String, _ password: Secret) -> [SignInEvidence] {
        let text = password.reveal()
        let long = String(repeating: "x", count: 1 << 20)
        return [
            (username, text + "x"), (username, String(text.dropLast())), (username, ""), ("", text),
            ("nobody-at-all", text), (username + "\u{0}", text), (username + " ", text), (username, text + "\u{0}"),
            (username, long), (long, text), ("' OR '1'='1", text),
        ].map { .password(username: $0.0, Secret($0.1)) }
    }
}

extension SignInVerdict {
    var account: AccountID? { if case .accepted(let proven) = self { proven.id } else { nil } }
}
