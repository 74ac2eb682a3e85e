import AdapterKit
import IPAddresses
import Identity
import Testing
import Upstream
import UpstreamStandIn

/// Portals answer a wrong password with anything; the verdict is known from who the portal itself has let in.
@Suite struct OddPortalTests {
    @Test(arguments: OddPortal.behaviours)
    func `a wrong password never signs in, however odd the portal's answer is`(_ behaviour: OddPortal.Behaviour)
        async throws
    {
        try await everyWay(behaviour) { portal, fixture, page, proof, asks in
            portal.behave(OddPortal.plain, page, proof)
            let victor = try await fixture.signIn("victor", Secret("right victor")).authentication.principal
            portal.behave(behaviour, page, proof)
            let isIn = try await asks(fixture, "victor", Secret("wrong"))
            // Where the answer is a sign-in's to the letter, only the proving page can tell.
            guard proof != .none || !behaviour.isIndistinguishable else { return }
            #expect(!isIn, "\(page) \(proof)")
            #expect(try await whoseCalls(victor, fixture, portal) == "victor", "\(page) \(proof)")
        }
    }

    @Test(arguments: OddPortal.behaviours)
    func `a right password signs in where the portal leaves a cookie that it knows`(_ behaviour: OddPortal.Behaviour)
        async throws
    {
        try await everyWay(behaviour) { portal, fixture, page, proof, asks in
            portal.behave(behaviour, page, proof)
            let isIn = try await asks(fixture, "victor", Secret("right victor"))
            #expect(isIn == (behaviour.leavesCookie || (proof != .none && isKnown(behaviour))), "\(page) \(proof)")
        }
    }

    /// Whether the portal knows the cookie though the rest of the answer looks like a refusal.
    private func isKnown(_ behaviour: OddPortal.Behaviour) -> Bool {
        behaviour.cookies == ["MYSAPSSO2=$T; Path=/"] && behaviour.location != "/irj/loop"
    }

    /// In whose name the portal answers the account's calls, by the cookies that are kept.
    private func whoseCalls(_ principal: Principal, _ fixture: IdentityFixture, _ portal: OddPortal) async throws
        -> String
    {
        let calls = try #require(fixture.identity.portalCalls("corp"))
        let me = try #require(UpstreamAddress(portal.server.address + "/irj/me"))
        return String(decoding: try await calls.send(UpstreamRequest(.get, me), as: principal).body, as: UTF8.self)
    }

    private typealias Asks = @Sendable (IdentityFixture, String, Secret) async throws -> Bool

    private func everyWay(
        _ behaviour: OddPortal.Behaviour,
        _ body: (OddPortal, IdentityFixture, OddPortal.Page, OddPortal.Proof, Asks) async throws -> Void
    ) async throws {
        let portal = try await OddPortal.start()
        let form: Asks = { fixture, name, password in
            await code { _ = try await fixture.signIn(name, password) } == nil
        }
        let basic: Asks = { fixture, name, password in
            try await fixture.identity.authentication(basic: name, password, from: IdentityFixture.home) != nil
        }
        for page in OddPortal.Page.allCases {
            for proof in OddPortal.Proof.allCases {
                let settings = try portal.settings(page, proof)
                let reached = UpstreamSettings.loopback([portal.server.address], name: "portal")
                let upstream = HTTPUpstream(reached, log: .discarding)
                for asks in [form, basic] {
                    let fixture = try await IdentityFixture(providers: [.portal(settings, upstream)])
                    do { try await body(portal, fixture, page, proof, asks) } catch { Issue.record(error) }
                }
                await upstream.stop()
            }
        }
        await portal.server.stop()
    }
}

/// Many people at one portal at the same time.
@Suite struct PortalPeopleTests {
    @Test func `calls side by side go out with their own caller's cookies, also while sign-ins end and are renewed`()
        async throws
    {
        let portal = try await OddPortal.start()
        let settings = try portal.settings(.session, .none)
        let me = try #require(UpstreamAddress(portal.server.address + "/irj/me"))
        portal.behave(OddPortal.plain, .session, .none)
        let reached = UpstreamSettings.loopback([portal.server.address], name: "portal")
        let upstream = HTTPUpstream(reached, log: .discarding)
        let fixture = try await IdentityFixture(providers: [.portal(settings, upstream)])
        let calls = try #require(fixture.identity.portalCalls("corp"))
        let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
            for person in 0..<20 {
                group.addTask {
                    let name = "user\(person)"
                    let address = ClientAddress("10.0.0.\(person)")
                    let signIn = try await fixture.signIn(name, Secret("right \(name)"), from: address)
                    let principal = signIn.authentication.principal
                    return try await withThrowingTaskGroup(of: Bool.self) { group in
                        for number in 0..<10 {
                            group.addTask {
                                if number == 5, person % 7 == 0 { portal.endSignIns() }
                                // A sign-in may end again between its renewal and the call.
                                guard
                                    let answer = try? await calls.send(UpstreamRequest(.get, me), as: principal)
                                else { return true }
                                return answer.status != 200 || String(decoding: answer.body, as: UTF8.self) == name
                            }
                        }
                        return try await group.reduce(true) { $0 && $1 }
                    }
                }
            }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(answers.count == 20 && answers.allSatisfy { $0 })
        await upstream.stop()
        await portal.server.stop()
    }
}
