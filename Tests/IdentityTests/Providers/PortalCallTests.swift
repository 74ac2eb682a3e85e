import AdapterKit
import Identity
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

@Suite struct PortalCallTests {
    @Test func `a call goes out with the caller's own cookies`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let answer = try await calls(fixture).send(try reading(portal), as: person)
            #expect(String(decoding: answer.body, as: UTF8.self) == "data for ticket1")
            let seen = try #require(portal.server.requests.last)
            #expect(seen["Cookie"] == "MYSAPSSO2=ticket1")
            #expect(seen["User-Agent"]?.contains("MSIE") == true)
            #expect(portal.server.requests.allSatisfy { $0["X-CSRF-Token"] == nil })
        }
    }

    @Test func `a cookie that a call's answer sets comes along with the account's next call, and with nobody else's`()
        async throws
    {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let visit = try #require(UpstreamAddress(portal.server.address + "/sap/visit"))
            _ = try await calls(fixture).send(UpstreamRequest(.get, visit), as: person)
            _ = try await calls(fixture).send(try reading(portal), as: person)
            #expect(portal.server.requests.last?["Cookie"] == "VISIT=1; MYSAPSSO2=ticket1")
            let other = try await fixture.signIn("JDoe", PortalStand.password).authentication.principal
            #expect(other.id == person.id)
            _ = try await calls(fixture).send(try reading(portal), as: other)
            #expect(portal.server.requests.last?["Cookie"] == "MYSAPSSO2=ticket2")
        }
    }

    @Test func `who did not sign in at the portal has no call there`() async throws {
        try await withPortal { portal, fixture in
            let alice = try await fixture.signIn().authentication.principal
            for principal in [alice, .anonymous, .system] {
                #expect(
                    await code { _ = try await calls(fixture).send(try reading(portal), as: principal) }
                        == .loginRequired
                )
            }
            #expect(portal.server.requests.allSatisfy { $0.path != "/sap/data" })
        }
    }

    @Test func `a key that has not all roles of its account has no call there`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication
            let admin = fixture.identity.administration
            try await admin.setRoles(["hr", "member"], of: person.account, by: .system)
            for (roles, reaches) in [(nil, true), (["hr", "member"], true), (["member"], false), ([], false)]
                as [(Set<RoleName>?, Bool)]
            {
                let (_, credential) = try await admin.createAPIKey(
                    for: person.account, title: "k", roles: roles, by: .system)
                let key = try #require(try await fixture.identity.authentication(bearer: credential)).principal
                let found = await code { _ = try await calls(fixture).send(try reading(portal), as: key) }
                #expect(found == (reaches ? nil : .loginRequired))
            }
        }
    }

    @Test func `a write fetches the token once and brings it along with its cookies`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            for _ in 0..<3 { #expect(try await calls(fixture).send(try writing(portal), as: person).status == 201) }
            #expect(portal.state.withLock { $0.writes } == 3)
            #expect(portal.server.requests.filter { $0["X-CSRF-Token"] == "Fetch" }.count == 1)
        }
    }

    @Test func `where a fresh token is refused too, the refusal is the caller's answer`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            portal.state.withLock { $0.refusesTokens = true }
            for number in 1...2 {
                #expect(try await calls(fixture).send(try writing(portal), as: person).status == 403)
                #expect(portal.server.requests.filter { $0["X-CSRF-Token"] == "Fetch" }.count == number)
            }
            portal.state.withLock { $0.refusesTokens = false }
            #expect(try await calls(fixture).send(try writing(portal), as: person).status == 201)
        }
    }

    @Test func `a sign-in that ended there is renewed once, for reads and writes`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            _ = try await calls(fixture).send(try writing(portal), as: person)
            for _ in 0..<2 {
                portal.endSignIns()
                #expect(try await calls(fixture).send(try reading(portal), as: person).status == 200)
                portal.endSignIns()
                #expect(try await calls(fixture).send(try writing(portal), as: person).status == 201)
            }
            #expect(portal.state.withLock { $0.signIns } == 5)
            #expect(portal.state.withLock { $0.writes } == 3)
        }
    }

    @Test func `where a renewed sign-in is ended too, the call ends after that one`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            portal.state.withLock { $0.knowsNobody = true }
            for (number, request) in [try reading(portal), try writing(portal)].enumerated() {
                #expect(await code { _ = try await calls(fixture).send(request, as: person) } == .loginRequired)
                #expect(portal.state.withLock { $0.signIns } == number + 2)
            }
            portal.state.withLock { $0.knowsNobody = false }
            #expect(try await calls(fixture).send(try reading(portal), as: person).status == 200)
        }
    }

    @Test func `many calls of an ended sign-in renew it once`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            portal.endSignIns()
            let calls = try calls(fixture)
            let request = try reading(portal)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await calls.send(request, as: person).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(portal.state.withLock { $0.signIns } == 2)
        }
    }

    @Test func `a password that changed there is tried once and then forgotten`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            portal.endSignIns()
            portal.state.withLock { $0.password = "another" }
            for _ in 0..<5 {
                #expect(
                    await code { _ = try await calls(fixture).send(try reading(portal), as: person) } == .loginRequired)
            }
            let tries = portal.server.requests.filter { $0.path == "/irj/servlet/login" }
            #expect(tries.count == 2)
        }
    }

    @Test func `signing out forgets what the portal gave`() async throws {
        try await withPortal { portal, fixture in
            let signIn = try await fixture.signIn("jdoe", PortalStand.password)
            let second = try await fixture.signIn("jdoe", PortalStand.password)
            let person = signIn.authentication.principal
            try await fixture.identity.signOut(second.authentication)
            _ = try await calls(fixture).send(try reading(portal), as: person)
            try await fixture.identity.signOut(signIn.authentication)
            #expect(await code { _ = try await calls(fixture).send(try reading(portal), as: person) } == .loginRequired)
        }
    }

    @Test func `a revoked sign-in is forgotten by maintenance`() async throws {
        try await withPortal { portal, fixture in
            let signIn = try await fixture.signIn("jdoe", PortalStand.password)
            try await fixture.identity.administration.disable(signIn.authentication.account, by: .system)
            fixture.clock.advance(601)
            try await fixture.identity.maintain()
            let person = signIn.authentication.principal
            #expect(await code { _ = try await calls(fixture).send(try reading(portal), as: person) } == .loginRequired)
        }
    }

    @Test func `cookies go to the servers of the portal only`() async throws {
        let other = try await StandIn { _ in .plain(200) }
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let elsewhere = UpstreamRequest(.get, try #require(UpstreamAddress(other.address + "/sap/data")))
            #expect(await code { _ = try await calls(fixture).send(elsewhere, as: person) } == .upstreamFailed)
        }
        #expect(other.requests.isEmpty)
        await other.stop()
    }

    @Test func `an adapter calls in its caller's name, for as long as its call lasts`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let transport = portal.upstream()
            let adapters = fixture.identity.upstream(transport, behind: "corp")
            #expect(adapters.name == "portal" && adapters.actsForCallers)
            let request = try reading(portal)
            #expect(
                String(decoding: try await adapters.send(request, for: person).body, as: UTF8.self)
                    == "data for ticket1")
            let stream = try await adapters.stream(request, for: person)
            #expect(String(decoding: try await stream.collected().body, as: UTF8.self) == "data for ticket1")
            let write = try writing(portal)
            #expect(try await adapters.send(write, for: person).status == 201)
            let alice = try await fixture.signIn().authentication.principal
            for caller in [alice, .anonymous, nil] {
                let refused = await #expect(throws: UpstreamFailure.self) {
                    try await adapters.send(request, for: caller)
                }
                #expect(refused?.asError.code == .loginRequired)
            }
            let late = CallContext(deadline: .now, requestID: "1")
            let failure = await CallContext.$current.withValue(late) {
                await #expect(throws: UpstreamFailure.self) { try await adapters.send(request, for: person) }
            }
            #expect(failure?.kind == .timedOut)
            await transport.stop()
        }
    }

    @Test func `a provider that is made anew, or no more, takes effect at once, and others go on`() async throws {
        try await withPortal { portal, fixture in
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let identity = fixture.identity
            let transport = portal.upstream()
            let setup = try ProviderSetup.portal(portal.settings { _ in }, transport)
            // One that did not change keeps what it has of sign-ins.
            identity.use(identity.prepareProviders([setup], changed: []))
            _ = try await calls(fixture).send(try reading(portal), as: person)
            let prepared = identity.prepareProviders([setup], changed: ["corp"])
            _ = try await calls(fixture).send(try reading(portal), as: person)
            identity.use(prepared)
            #expect(await code { _ = try await calls(fixture).send(try reading(portal), as: person) } == .loginRequired)
            _ = try await fixture.signIn("jdoe", PortalStand.password)
            _ = try await calls(fixture).send(try reading(portal), as: person)
            identity.use(identity.prepareProviders([], changed: ["corp"]))
            #expect(identity.portalCalls("corp") == nil)
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == .credentialsInvalid)
            await transport.stop()
        }
    }

    @Test func `there is no way to a portal that is not configured`() async throws {
        try await withPortal { portal, fixture in
            let transport = portal.upstream()
            let person = try await fixture.signIn("jdoe", PortalStand.password).authentication.principal
            let other = fixture.identity.upstream(transport, behind: "other")
            let request = try reading(portal)
            let refused = await #expect(throws: UpstreamFailure.self) { try await other.send(request, for: person) }
            #expect(refused?.asError.code == .loginRequired)
            await transport.stop()
        }
    }

    private func calls(_ fixture: IdentityFixture) throws -> PortalCalls {
        try #require(fixture.identity.portalCalls("corp"))
    }

    private func reading(_ portal: PortalStand) throws -> UpstreamRequest {
        UpstreamRequest(.get, try #require(UpstreamAddress(portal.server.address + "/sap/data")))
    }

    private func writing(_ portal: PortalStand) throws -> UpstreamRequest {
        UpstreamRequest(.post, try #require(UpstreamAddress(portal.server.address + "/sap/data")), body: [1])
    }
}
