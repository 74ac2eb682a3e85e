import AdapterKit
import Identity
import Testing

@Suite struct AdminTokenTests {
    @Test func `each role may do what the ones before it may, and no more`() {
        for (place, role) in AdminRole.allCases.enumerated() {
            for (other, required) in AdminRole.allCases.enumerated() {
                #expect((role >= required) == (place >= other), "\(role) \(required)")
                #expect((role < required) == (place < other), "\(role) \(required)")
            }
        }
    }

    @Test(arguments: ["ops", "a", "deploy-2", "z9", String(repeating: "x", count: 40)])
    func `small letters, digits and hyphens make a name, and its token is found by its credential`(text: String)
        async throws
    {
        let fixture = try await IdentityFixture()
        let name = try #require(AdminTokenName(text))
        let made = try await fixture.identity.administration.addAdminToken(name, role: .operator, by: .system)
        #expect(made.token.name == name && made.token.role == .operator && made.token.created == fixture.clock.now())
        #expect(try await fixture.identity.administration.adminToken(made.credential) == made.token)
        #expect(!fixture.store.inner.dump.contains(made.credential.reveal().suffix(43)))
    }

    @Test(arguments: ["", "Ops", "a_b", "-a", "a b", "ä", "a.b", String(repeating: "x", count: 41)])
    func `anything else is no name`(text: String) {
        #expect(AdminTokenName(text) == nil)
    }

    @Test func `a credential with any part changed is none`() async throws {
        let fixture = try await IdentityFixture()
        let administration = fixture.identity.administration
        let right = try await administration.addAdminToken("ops", role: .admin, by: .system).credential.reveal()
        let other = try await administration.addAdminToken("other", role: .viewer, by: .system).credential.reveal()
        let secret = right.suffix(43)
        for text in [
            "", "pa", "pa_", "pa__", "pa_ops", "pa_ops_", "pk_ops_\(secret)", "_ops_\(secret)", "pa_other_\(secret)",
            "pa_nobody_\(secret)", "pa_OPS_\(secret)", "pa_ops_\(other.suffix(43))", right + "A",
            String(right.dropLast()),
            " " + right, "pa_ops_\(secret.dropLast())*", "pa_ops_\(secret.dropLast())=",
            "pa_ops_" + String(repeating: "A", count: 10_000),
        ] {
            #expect(try await administration.adminToken(Secret(text)) == nil, "\(text)")
        }
        #expect(try await administration.adminToken(Secret(right))?.role == .admin)
    }

    @Test func `a name is taken once, and free again when its token is revoked`() async throws {
        let fixture = try await IdentityFixture()
        let administration = fixture.identity.administration
        let first = try await administration.addAdminToken("ops", role: .viewer, by: .system).credential
        #expect(
            await code { _ = try await administration.addAdminToken("ops", role: .admin, by: .system) } == .recordExists
        )
        try await administration.revokeAdminToken("ops", by: .system)
        #expect(try await administration.adminToken(first) == nil)
        #expect(await code { try await administration.revokeAdminToken("ops", by: .system) } == .recordNotFound)
        _ = try await administration.addAdminToken("ops", role: .admin, by: .system)
        #expect(try await administration.adminToken(first) == nil)
        let kinds = try await administration.auditEntries().map(\.kind).prefix(3)
        #expect(kinds == ["adminToken.created", "adminToken.revoked", "adminToken.created"])
    }

    @Test func `tokens are listed by name, and there is a limit to them`() async throws {
        let fixture = try await IdentityFixture()
        let administration = fixture.identity.administration
        let names = (0..<Administration.mostAdminTokens).map { AdminTokenName(unchecked: "t\($0)") }
        for name in names { _ = try await administration.addAdminToken(name, role: .viewer, by: .system) }
        let refused = await code { _ = try await administration.addAdminToken("more", role: .viewer, by: .system) }
        #expect(refused == .requestLimitExceeded)
        #expect(try await administration.adminTokens().map(\.name.text) == names.map(\.text).sorted())
    }
}
