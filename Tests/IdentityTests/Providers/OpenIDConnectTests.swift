import AdapterKit
import Identity
import Synchronization
import Testing
import UpstreamStandIn

@Suite struct OpenIDConnectTests {
    @Test func `an identity provider is a sign-in provider, by its codes`() async throws {
        try await withProvider { stand, fixture in
            let provider = try #require(fixture.identity.provider("idp"))
            guard case .authorizationCode(let code, _, _) = try stand.evidence() else { throw StandError() }
            let wrong: [SignInEvidence] = [
                .authorizationCode(code, verifier: Secret("w"), nonce: Secret("n")),
                .authorizationCode(Secret("unknown"), verifier: Secret("v"), nonce: Secret("n")),
                .password(username: "alice", IdentityFixture.password),
            ]
            try await SignInProviderConformance(provider: provider, wrong: wrong) { try stand.evidence() }.run()
        }
    }

    @Test func `an identity provider is a sign-in provider, by its tokens`() async throws {
        try await withProvider { stand, fixture in
            let provider = try #require(fixture.identity.provider("idp"))
            let wrong = [try stand.sign(stand.identityClaims(nonce: "n")), try stand.accessToken { $0["aud"] = "x" }]
            try await SignInProviderConformance(provider: provider, wrong: wrong.map { .bearer($0) }) {
                .bearer(try stand.accessToken())
            }.run()
        }
    }

    @Test func `a browser goes to the provider's page and comes back signed in, where it wanted to go`() async throws {
        try await withProvider { stand, fixture in
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/chat/?a=b")
            #expect(begun.location.hasPrefix(stand.server.address + "/authorize?realm=1&response_type=code"))
            let (signIn, path) = try await finish(fixture, begun, try stand.authorize(begun.location))
            #expect(path == "/chat/?a=b")
            let principal = signIn.authentication.principal
            #expect(principal.name == "alice@idp" && principal.displayName == "Alice Öhm")
            #expect(principal.roles == ["member"])
            #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie)?.principal == principal)
        }
    }

    @Test func `what another browser brings back is refused`() async throws {
        try await withProvider { stand, fixture in
            let mine = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            let other = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            let answer = try stand.authorize(other.location)
            #expect(await code { _ = try await finish(fixture, mine, answer) } == .credentialsInvalid)
            let garbled = Secret("x" + other.cookie.reveal())
            #expect(await code { _ = try await finish(fixture, other, answer, cookie: garbled) } == .credentialsInvalid)
            _ = try await finish(fixture, other, answer)
            #expect(await code { _ = try await finish(fixture, other, answer) } == .credentialsInvalid)
        }
    }

    @Test func `an answer is good once, also where the provider would take its code again`() async throws {
        try await withProvider { stand, fixture in
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            let answer = try stand.authorize(begun.location)
            let grants = stand.state.withLock { $0.grants }
            _ = try await finish(fixture, begun, answer)
            let asked = stand.server.requests.filter { $0.path == "/token" }.count
            for _ in 0..<3 {
                stand.state.withLock { $0.grants = grants }
                #expect(await code { _ = try await finish(fixture, begun, answer) } == .credentialsInvalid)
            }
            #expect(stand.server.requests.filter { $0.path == "/token" }.count == asked)
        }
    }

    @Test func `a state that is another's or none is refused before the provider is asked`() async throws {
        try await withProvider { stand, fixture in
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            let answer = try stand.authorize(begun.location)
            for state in ["", "x", answer.state.reveal() + "x"] {
                let forged = (code: answer.code, state: Secret(state))
                #expect(await code { _ = try await finish(fixture, begun, forged) } == .credentialsInvalid)
            }
            #expect(stand.server.requests.allSatisfy { $0.path != "/token" })
        }
    }

    @Test
    func `an answer that names another issuer is refused, and one that names none where the provider names itself`()
        async throws
    {
        try await withProvider { stand, fixture in
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            let answer = try stand.authorize(begun.location)
            #expect(
                await code { _ = try await finish(fixture, begun, answer, issuer: "https://evil.example.com") }
                    == .credentialsInvalid)
            _ = try await finish(fixture, begun, answer, issuer: stand.issuer)
        }
        try await withProvider { stand, fixture in
            stand.state.withLock { $0.namesItself = true }
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            #expect(
                await code { _ = try await finish(fixture, begun, try stand.authorize(begun.location)) }
                    == .credentialsInvalid)
        }
    }

    @Test func `a sign-in that took too long is refused`() async throws {
        try await withProvider { stand, fixture in
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            fixture.clock.advance(600)
            #expect(
                await code { _ = try await finish(fixture, begun, try stand.authorize(begun.location)) }
                    == .credentialsInvalid)
        }
    }

    @Test(arguments: [
        "//evil.example.com", "https://evil.example.com", "/\\evil.example.com", "", "x", "/a\r\nb", "/a b",
    ])
    func `a sign-in never ends at another server`(path: String) async throws {
        try await withProvider { _, fixture in
            #expect(
                await code { _ = try await fixture.identity.beginSignIn(with: "idp", returningTo: path) }
                    == .requestInvalid)
        }
    }

    @Test func `a secret may go into the form where the provider wants it so`() async throws {
        try await withProvider { stand, fixture in
            stand.state.withLock { $0.takesBasic = false }
            let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
            _ = try await finish(fixture, begun, try stand.authorize(begun.location))
        }
    }

    @Test func `groups that change at the provider change the roles here, but not by an older token`() async throws {
        try await withProvider { stand, fixture in
            let words: [(groups: [String], issued: Int, roles: Set<RoleName>)] = [
                (["staff"], 0, ["member"]), (["chiefs"], 10, ["member", "admin"]),
                (["staff"], 5, ["member", "admin"]), ([], 20, []),
            ]
            for word in words {
                let found = try await roles(stand, fixture, word.groups, issued: word.issued)
                #expect(found == word.roles)
            }
        }
    }

    @Test func `an older token brings no roles back after a newer one that changed nothing`() async throws {
        try await withProvider { stand, fixture in
            let words: [(groups: [String], issued: Int, roles: Set<RoleName>)] = [
                (["staff"], 0, ["member"]), (["staff"], 20, ["member"]), (["chiefs"], 10, ["member"]),
                (["chiefs"], 30, ["member", "admin"]), (["staff"], 40, ["member"]), (["staff"], 50, ["member"]),
                (["chiefs"], 45, ["member"]), (["chiefs"], 50, ["member"]),
            ]
            for word in words {
                let found = try await roles(stand, fixture, word.groups, issued: word.issued)
                #expect(found == word.roles, "issued \(word.issued)")
            }
        }
    }

    @Test func `a provider's subject is an account of its own, whatever it calls itself`() async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken { $0["preferred_username"] = "Alice" }
            let found = try #require(try await fixture.identity.authentication(bearer: token))
            #expect(found.account != fixture.alice.id)
            let other = try stand.accessToken { $0["sub"] = "u-2" }
            let second = try #require(try await fixture.identity.authentication(bearer: other))
            #expect(second.account != found.account)
            #expect(second.principal.name != found.principal.name)
        }
    }

    private func roles(_ stand: ProviderStand, _ fixture: IdentityFixture, _ groups: [String], issued: Int) async throws
        -> Set<RoleName>?
    {
        let token = try stand.accessToken {
            $0["groups"] = groups
            $0["iat"] = ProviderStand.now + issued
        }
        return try await fixture.identity.authentication(bearer: token)?.principal.roles
    }

    private func finish(
        _ fixture: IdentityFixture, _ begun: BrowserSignIn, _ answer: (code: Secret, state: Secret),
        issuer: String? = nil,
        cookie: Secret? = nil
    ) async throws -> (signIn: SignIn, path: String) {
        try await fixture.identity.finishSignIn(
            with: "idp", BrowserReturn(code: answer.code, state: answer.state, issuer: issuer),
            cookie: cookie ?? begun.cookie,
            from: IdentityFixture.home)
    }
}
