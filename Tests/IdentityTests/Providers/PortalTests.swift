import AdapterKit
import IPAddresses
import Identity
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

@Suite struct PortalTests {
    @Test func `a portal is a sign-in provider`() async throws {
        try await withPortal { portal, fixture in
            let provider = try #require(fixture.identity.provider("corp"))
            try await SignInProviderConformance(
                provider: provider, wrong: SignInProviderConformance.passwords("jdoe", PortalStand.password)
            ) { .password(username: "jdoe", PortalStand.password) }.run()
        }
    }

    @Test func `the portal's account has the portal's name, its roles, and no password here`() async throws {
        try await withPortal { portal, fixture in
            let signIn = try await fixture.signIn("JDoe", PortalStand.password)
            let principal = signIn.authentication.principal
            #expect(principal.name == "JDoe@corp")
            #expect(principal.roles == ["member"])
            #expect(try await fixture.signIn("jdoe", PortalStand.password).authentication.account.text == principal.id)
            #expect(
                await code { _ = try await fixture.signIn("jdoe@corp", PortalStand.password) } == .credentialsInvalid)
        }
    }

    @Test func `a portal's name never becomes the local account of that name`() async throws {
        try await withPortal { portal, fixture in
            let local = try await fixture.identity.administration.addAccount(
                NewAccount("jdoe", roles: ["admin"], password: IdentityFixture.password), by: .system)
            let squatter = try await fixture.identity.administration.addAccount(
                NewAccount("jdoe@corp", roles: ["admin"], password: IdentityFixture.password), by: .system)
            let signIn = try await fixture.signIn("jdoe", PortalStand.password)
            #expect(signIn.authentication.account != local.id && signIn.authentication.account != squatter.id)
            #expect(signIn.authentication.principal.roles == ["member"])
            #expect(signIn.authentication.principal.name.hasPrefix("jdoe+"))
            #expect(try await fixture.signIn("jdoe").authentication.account == local.id)
        }
    }

    @Test func `an account that was disabled here stays out, whatever the portal says`() async throws {
        try await withPortal { portal, fixture in
            let account = try await fixture.signIn("jdoe", PortalStand.password).authentication.account
            try await fixture.identity.administration.disable(account, by: .system)
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == .credentialsInvalid)
        }
    }

    @Test func `an account without any role is refused where one is required`() async throws {
        let adjust: (inout PortalSettings) -> Void = {
            $0.roles.defaultRoles = []
            $0.roles.isRequired = true
        }
        try await withPortal(adjust) { portal, fixture in
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == .credentialsInvalid)
        }
    }

    @Test func `a user agent that the portal does not know is refused there, so it can be configured`() async throws {
        let adjust: (inout PortalSettings) -> Void = { $0.userAgent = "Portico" }
        try await withPortal(adjust) { portal, fixture in
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == .credentialsInvalid)
        }
    }

    @Test(arguments: [
        ("", true), ("<h1>Your name: jdoe</h1>", true), ("<a name='top'>name j_password</a>", true),
        ("<input name='j_passwords'>", true), ("<input name=user><p>j_password</p>", true),
        ("<input name='j_password'>", false), ("<p>name</p><INPUT NAME = \"J_PASSWORD\" >", false),
        ("<input name=j_password>", false), ("<input name=j_password type=password>", false),
        ("<input\nname\t=\n'j_password'/>", false), ("<input name='j_password", false),
        ("<input type=passwords>", true), ("<a href='/password'>type your new password</a>", true),
        ("<input type=\"password\" name=\"pwd\">", false), ("<INPUT Type = 'PassWord'>", false),
        ("<input id=p type=password/>", false), ("<script>write('<input type=\\'password\\'>')</script>", false),
        (String(repeating: "<p>welcome</p>", count: 100_000) + "<input type=password>", false),
        ("<input type=password>".map { "\($0)\0" }.joined(), false),
    ])
    func `a page that has the field for the password is the form again, and no other is`(page: String, isIn: Bool)
        async throws
    {
        let portal = try await StandIn { _ in .plain(200, [("Set-Cookie", "MYSAPSSO2=ticket; Path=/")], page) }
        let upstream = HTTPUpstream(UpstreamSettings.loopback([portal.address], name: "portal"), log: .discarding)
        let form = try #require(UpstreamAddress(portal.address + "/login"))
        let fixture = try await IdentityFixture(providers: [.portal(PortalSettings(name: "corp", form: form), upstream)]
        )
        let refusal = await code { _ = try await fixture.signIn("jdoe", PortalStand.password) }
        #expect(refusal == (isIn ? nil : .credentialsInvalid))
        await upstream.stop()
        await portal.stop()
    }

    /// Before the form it says nothing about the password; after it, guesses must not be free.
    @Test(arguments: [false, true]) func `redirects without end are followed ten times`(isBeforeForm: Bool) async throws
    {
        let portal = try await StandIn { _ in
            .plain(302, [("Location", "/again"), ("Set-Cookie", "MYSAPSSO2=ticket; Path=/")])
        }
        let upstream = HTTPUpstream(UpstreamSettings.loopback([portal.address], name: "portal"), log: .discarding)
        var settings = PortalSettings(name: "corp", form: try #require(UpstreamAddress(portal.address + "/login")))
        settings.page = isBeforeForm ? UpstreamAddress(portal.address + "/page") : nil
        let fixture = try await IdentityFixture(providers: [.portal(settings, upstream)])
        let refusal = await code { _ = try await fixture.signIn("jdoe", PortalStand.password) }
        #expect(refusal == (isBeforeForm ? .upstreamFailed : .credentialsInvalid))
        #expect(portal.requests.count == 11)
        await upstream.stop()
        await portal.stop()
    }

    @Test func `a portal that is out of order is no refusal, and local accounts go on`() async throws {
        try await withPortal { portal, fixture in
            portal.state.withLock { $0.isBroken = true }
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == .upstreamFailed)
            _ = try await fixture.signIn("alice")
        }
    }

    @Test func `a redirect to another host takes neither the password nor the cookies along`() async throws {
        let thief = try await StandIn { _ in .plain(200, [("Set-Cookie", "MYSAPSSO2=forged; Path=/")]) }
        let portal = try await StandIn { request in
            .plain(307, [("Location", thief.address + "/steal"), ("Set-Cookie", "MYSAPSSO2=x; Path=/")])
        }
        let form = try #require(UpstreamAddress(portal.address + "/login"))
        for others in [[], [thief.address]] {
            let settings = UpstreamSettings.loopback([portal.address] + others, name: "portal")
            let upstream = HTTPUpstream(settings, log: .discarding)
            let fixture = try await IdentityFixture(providers: [
                .portal(PortalSettings(name: "corp", form: form), upstream)
            ])
            _ = await code { _ = try await fixture.signIn("jdoe", PortalStand.password) }
            await upstream.stop()
        }
        #expect(portal.requests.count == 2)
        #expect(thief.requests.allSatisfy { $0.method == "GET" && $0.body.isEmpty })
        await thief.stop()
        await portal.stop()
    }

    @Test func `an answer too large or too slow is no verdict`() async throws {
        for (answer, expected, deadline) in [
            (StandIn.Answer.endless, ErrorCode.upstreamFailed, Duration.seconds(60)),
            (.trickle, .upstreamTimeout, .milliseconds(300)),
        ] {
            let portal = try await StandIn { _ in answer }
            let form = try #require(UpstreamAddress(portal.address + "/login"))
            var settings = UpstreamSettings.loopback([portal.address], name: "portal")
            settings.limits.deadline = deadline
            settings.limits.answer = 10_000
            let upstream = HTTPUpstream(settings, log: .discarding)
            let fixture = try await IdentityFixture(providers: [
                .portal(PortalSettings(name: "corp", form: form), upstream)
            ])
            #expect(await code { _ = try await fixture.signIn("jdoe", PortalStand.password) } == expected)
            await upstream.stop()
            await portal.stop()
        }
    }

    @Test func `the password is in no log`() async throws {
        try await withPortal { portal, fixture in
            _ = try await fixture.signIn("jdoe", PortalStand.password)
            portal.state.withLock { $0.isBroken = true }
            _ = await code { _ = try await fixture.signIn("jdoe", PortalStand.password) }
            #expect(!fixture.log.text.contains("s3cret"))
        }
    }
}

/// A portal and a house that signs in there.
func withPortal(
    _ adjust: (inout PortalSettings) -> Void = { _ in }, _ body: (PortalStand, IdentityFixture) async throws -> Void
) async throws {
    let portal = try await PortalStand.start()
    let upstream = portal.upstream()
    let fixture = try await IdentityFixture(providers: [.portal(portal.settings(adjust), upstream)])
    do { try await body(portal, fixture) } catch { Issue.record(error) }
    await upstream.stop()
    await portal.server.stop()
}
