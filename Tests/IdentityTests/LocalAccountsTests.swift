import AdapterKit
import Identity
import Testing

@Suite struct LocalAccountsTests {
    @Test func `local accounts are a sign-in provider`() async throws {
        let fixture = try await IdentityFixture()
        let provider = LocalAccounts(
            store: fixture.store, configuration: fixture.configuration.passwords, randomness: SeededRandomness(3),
            log: .discarding)
        try await SignInProviderConformance(
            provider: provider, wrong: SignInProviderConformance.passwords("alice", IdentityFixture.password)
        ) { .password(username: "alice", IdentityFixture.password) }.run()
        #expect(
            try await provider.verify(.password(username: "alice", IdentityFixture.password)).account
                == fixture.alice.id)
    }

    @Test func `a text that is no name does not become the account that is looked up instead`() async throws {
        let fixture = try await IdentityFixture()
        try await fixture.identity.administration.addAccount(
            NewAccount("0", password: IdentityFixture.password), by: .system)
        #expect(await code { _ = try await fixture.signIn("no name!") } == .credentialsInvalid)
        _ = try await fixture.signIn("0")
    }
}
