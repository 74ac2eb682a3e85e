import AdapterKit
import Identity
import Testing

@Suite struct LocalAccountsTests {
    @Test func `local accounts are a sign-in provider`() async throws {
        let house = try await TestHouse()
        let provider = LocalAccounts(
            store: house.store, configuration: house.configuration.passwords, randomness: SeededRandomness(3),
            log: .discarding)
        try await SignInProviderConformance(
            provider: provider, wrong: SignInProviderConformance.passwords("alice", TestHouse.password)
        ) { .password(username: "alice", TestHouse.password) }.run()
        #expect(
            try await provider.verify(.password(username: "alice", TestHouse.password)).account == house.alice.id)
    }

    @Test func `a text that is no name does not become the account that is looked up instead`() async throws {
        let house = try await TestHouse()
        try await house.identity.administration.addAccount(NewAccount("0", password: TestHouse.password), by: .system)
        #expect(await code { _ = try await house.signIn("no name!") } == .credentialsInvalid)
        _ = try await house.signIn("0")
    }
}
