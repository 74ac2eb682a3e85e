import AdapterKit
import Crypto
import Identity
import Synchronization
import Testing
import UpstreamStandIn

@Suite struct ProviderKeyTests {
    @Test func `a new key is found when its first token comes, and the old one is gone`() async throws {
        try await withProvider { stand, fixture in
            let old = try stand.accessToken()
            #expect(try await accepts(fixture, old))
            stand.rotate(to: "k2")
            fixture.clock.advance(61)
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
            let forged = try stand.signedByAnother("k1")
            #expect(try await !accepts(fixture, forged))
        }
    }

    @Test func `tokens with unknown keys cause one fetch a minute, not one each`() async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
            let before = stand.fetches
            for number in 0..<50 {
                fixture.clock.advance(1)
                let token = try stand.accessToken({ _ in }, ["kid": "unknown\(number)"])
                #expect(try await !accepts(fixture, token))
            }
            #expect(stand.fetches == before)
            fixture.clock.advance(61)
            for number in 0..<50 {
                let token = try stand.accessToken({ _ in }, ["kid": "other\(number)"])
                #expect(try await !accepts(fixture, token))
            }
            #expect(stand.fetches == before + 1)
        }
    }

    @Test func `many first tokens at once fetch the keys once`() async throws {
        try await withProvider { stand, fixture in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    let token = try stand.accessToken { $0["sub"] = "u-\(number)" }
                    group.addTask { try await fixture.identity.authentication(bearer: token) != nil }
                }
                for try await isAccepted in group { #expect(isAccepted) }
            }
            #expect(stand.fetches == 1)
        }
    }

    @Test func `known keys go on while the provider is down, for a day and no longer`() async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
            stand.state.withLock { $0.isDown = true }
            fixture.clock.advance(3601)
            let later = try stand.accessToken { $0["exp"] = ProviderStand.now + 1_000_000 }
            #expect(try await accepts(fixture, later))
            // To the second: a day after the keys were fetched they are too old, though the provider was asked just now.
            fixture.clock.advance(86_400 - 3601 - 1)
            #expect(try await accepts(fixture, later))
            fixture.clock.advance(1)
            // Another one: what was verified is remembered.
            let last = try stand.accessToken { $0["exp"] = ProviderStand.now + 1_000_001 }
            #expect(await code { _ = try await accepts(fixture, last) } == .upstreamFailed)
        }
    }

    @Test func `a provider that was down from the start is asked now and then, not for each token`() async throws {
        try await withProvider { stand, fixture in
            stand.state.withLock { $0.isDown = true }
            for _ in 0..<20 {
                #expect(await code { _ = try await accepts(fixture, try stand.accessToken()) } == .upstreamFailed)
            }
            #expect(stand.server.requests.count == 1)
            stand.state.withLock { $0.isDown = false }
            fixture.clock.advance(5)
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
        }
    }

    @Test func `a configuration of another issuer, or that leads to other servers, is not used`() async throws {
        for (name, value) in [
            ("issuer", "https://evil.example.com"), ("jwks_uri", "http://127.0.0.1:1/keys"),
            ("jwks_uri", "file:///etc/passwd"), ("authorization_endpoint", "javascript:alert(1)"),
        ] {
            try await withProvider { stand, fixture in
                stand.state.withLock { $0.configuration[name] = value }
                #expect(await code { _ = try await accepts(fixture, try stand.accessToken()) } == .upstreamFailed)
            }
        }
    }

    @Test func `while a fetch is slow, others go on with the keys that are known`()
        async throws
    {
        try await withProvider { stand, fixture in
            let tokens = try (0..<20).map { number in
                try stand.accessToken {
                    $0["sub"] = "u-\(number)"
                    $0["exp"] = ProviderStand.now + 1_000_000
                }
            }
            #expect(try await accepts(fixture, tokens[0]))
            let before = stand.fetches
            stand.state.withLock { $0.isSilent = true }
            fixture.clock.advance(3601)
            let slow = Task { try await accepts(fixture, tokens[1]) }
            while !Task.isCancelled, stand.fetches == before { await Task.yield() }
            for token in tokens.dropFirst(2) { #expect(try await accepts(fixture, token)) }
            slow.cancel()
            _ = try? await slow.value
        }
    }

    @Test(arguments: [20_000, 100_000]) func `a key set that is huge is not read, and the known keys hold`(count: Int)
        async throws
    {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken { $0["exp"] = ProviderStand.now + 1_000_000 }
            #expect(try await accepts(fixture, token))
            stand.state.withLock { $0.otherKeys = Array(repeating: ["a": "b"], count: count) }
            fixture.clock.advance(3601)
            #expect(try await accepts(fixture, token))
        }
        try await withProvider { stand, fixture in
            stand.state.withLock { $0.otherKeys = Array(repeating: ["a": "b"], count: count) }
            #expect(await code { _ = try await accepts(fixture, try stand.accessToken()) } == .upstreamFailed)
        }
    }

    @Test func `keys of other kinds leave room for those that are used`() async throws {
        try await withProvider { stand, fixture in
            stand.state.withLock { $0.otherKeys = Array(repeating: ["kty": "oct", "k": "x"], count: 500) }
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
        }
    }

    private func accepts(_ fixture: IdentityFixture, _ token: Secret) async throws -> Bool {
        try await fixture.identity.authentication(bearer: token) != nil
    }
}

extension ProviderStand {
    fileprivate var fetches: Int { server.requests.filter { $0.path == "/keys" }.count }

    fileprivate func rotate(to id: String) {
        state.withLock {
            $0.key = P256.Signing.PrivateKey()
            $0.keyID = id
        }
    }

    /// By the key in use, under another's name.
    fileprivate func signedByAnother(_ id: String) throws -> Secret {
        try accessToken({ $0["sub"] = "u-9" }, ["kid": id])
    }
}
