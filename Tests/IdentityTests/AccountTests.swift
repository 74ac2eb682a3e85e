import AdapterKit
import Identity
import Testing

@Suite struct AccountTests {
    @Test(arguments: ["a", "alice", "john.doe@example.org", "0", "A_b-c+d", String(repeating: "x", count: 64)])
    func `letters, digits and a few signs make a name`(text: String) {
        #expect(AccountName(text) != nil)
    }

    @Test(arguments: [
        "", " alice", "alice ", ".alice", "a:b", "a/b", "ålice", "аlice", "a\u{0}", "a\nb",
        String(repeating: "x", count: 65),
    ])
    func `anything else is no name`(text: String) {
        #expect(AccountName(text) == nil)
    }

    @Test func `two names that differ in the case of letters alone are one`() throws {
        let name = String("AZaz09._-@+")
        #expect(try #require(AccountName(name)).folded == "azaz09._-@+")
    }

    @Test func `a name is taken in every case`() async throws {
        let fixture = try await IdentityFixture()
        let code = await code {
            try await fixture.identity.administration.addAccount(
                NewAccount("aLiCe", password: IdentityFixture.password), by: .system)
        }
        #expect(code == .recordExists)
    }

    @Test func `accounts are listed by name, page by page`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        for name: AccountName in ["Dora", "bob", "Carol"] {
            try await admin.addAccount(NewAccount(name, password: nil), by: .system)
        }
        let first = try await admin.accounts(limit: 2)
        #expect(first.map(\.name.text) == ["Alice", "bob"])
        #expect(try await admin.accounts(after: first.last?.name).map(\.name.text) == ["Carol", "Dora"])
    }

    @Test func `an account's attributes are stored and reach the principal`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let bob = try await admin.addAccount(
            NewAccount(
                "bob", displayName: "Bob B.", attributes: ["region": "north"], password: IdentityFixture.password),
            by: .system)
        let principal = try await fixture.signIn("bob").authentication.principal
        #expect(principal.displayName == "Bob B.")
        #expect(principal.attributes == ["region": "north"])
        #expect(principal.id == bob.id.text)
        try await admin.setAttributes(["region": "south"], of: bob.id, by: .system)
        try await admin.setDisplayName("Robert", of: bob.id, by: .system)
        let changed = try #require(try await admin.account(named: "BOB"))
        #expect(changed.attributes == ["region": "south"] && changed.displayName == "Robert")
    }

    @Test func `a description of an account does not show its hash`() async throws {
        let fixture = try await IdentityFixture()
        #expect(!"\(fixture.alice)".contains("scrypt"))
    }

    @Test func `an account that is not there can't be changed`() async throws {
        let fixture = try await IdentityFixture()
        let nobody = AccountID("00000000000000000000000000000000")
        let admin = fixture.identity.administration
        #expect(await code { try await admin.disable(nobody, by: .system) } == .recordNotFound)
        #expect(await code { try await admin.setRoles([], of: nobody, by: .system) } == .recordNotFound)
        let setting = await code { try await admin.setPassword(IdentityFixture.password, of: nobody, by: .system) }
        #expect(setting == .recordNotFound)
        let creating = await code { _ = try await admin.createAPIKey(for: nobody, title: "x", by: .system) }
        #expect(creating == .recordNotFound)
    }

    @Test func `a disabled account signs in nowhere, and again once it is enabled`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        try await admin.disable(fixture.alice.id, by: .system)
        #expect(await code { _ = try await fixture.signIn() } == .credentialsInvalid)
        try await admin.enable(fixture.alice.id, by: .system)
        _ = try await fixture.signIn()
    }
}
