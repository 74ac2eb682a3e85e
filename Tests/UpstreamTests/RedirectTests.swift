import AdapterKit
import Testing
import Upstream
import UpstreamStandIn

@Suite struct RedirectTests {
    @Test func `a redirect is the answer unless the request says to follow it`() async throws {
        let server = try await StandIn { _ in .plain(302, [("Location", "/elsewhere")]) }
        let request = UpstreamRequest(.get, try address(server.address))
        let answer = await ask(.loopback([server.address]), request)
        #expect(answer.response?.status == 302)
        #expect(answer.response?.redirect?.description == server.address + "/elsewhere")
        await server.stop()
    }

    @Test func `a redirect to a server that is not configured is refused before it is called`() async throws {
        let other = try await StandIn { _ in .plain(200, [], "stolen") }
        let server = try await StandIn { _ in .plain(302, [("Location", other.address + "/x")]) }
        #expect(try await follow(server, in: .loopback([server.address])).kind == .redirectRefused)
        #expect(other.requests.isEmpty)
        await other.stop()
        await server.stop()
    }

    @Test func `a redirect into a forbidden network is refused although the server is configured`() async throws {
        let server = try await StandIn { _ in .plain(302, [("Location", "http://metadata.internal/latest")]) }
        var settings = UpstreamSettings.loopback([server.address, "http://metadata.internal"])
        settings.limits.names = .zero
        let answer = try await follow(server, in: settings, names: ScriptedNames([["169.254.169.254"]]))
        #expect(answer.kind == .destinationRefused)
        await server.stop()
    }

    @Test func `credentials stay with the server that they were meant for`() async throws {
        let other = try await StandIn { _ in .plain(200) }
        let server = try await StandIn { _ in .plain(302, [("Location", other.address + "/x")]) }
        let answer = try await follow(server, in: .loopback([server.address, other.address])) {
            $0.fields = ["Authorization": "Bearer s", "Cookie": "a=b", "X-CSRF-Token": "t", "Accept": "text/plain"]
        }
        #expect(answer.response?.status == 200)
        let seen = try #require(other.requests.first)
        #expect(seen["Authorization"] == nil && seen["Cookie"] == nil && seen["X-CSRF-Token"] == nil)
        #expect(seen["Accept"] == "text/plain")
        #expect(server.requests.first?["Authorization"] == "Bearer s")
        await other.stop()
        await server.stop()
    }

    @Test func `a form is never posted on to another server`() async throws {
        let other = try await StandIn { _ in .plain(200) }
        let server = try await StandIn { _ in .plain(307, [("Location", other.address + "/x")]) }
        var request = UpstreamRequest(posting: ["j_password": "secret"], to: try address(server.address))
        request.redirects = .followed
        #expect(await ask(.loopback([server.address, other.address]), request).kind == .redirectRefused)
        #expect(other.requests.isEmpty)
        await other.stop()
        await server.stop()
    }

    @Test func `a posted form becomes a reading after 302 and 303, and stays one after 307`() async throws {
        for (status, method, body) in [(302, "GET", ""), (303, "GET", ""), (307, "POST", "a=b+%26")] {
            let server = try await StandIn { $0.path == "/" ? .plain(status, [("Location", "next?q")]) : .plain(200) }
            var request = UpstreamRequest(posting: ["a": "b &"], to: try address(server.address))
            request.redirects = .followed
            let answer = await ask(.loopback([server.address]), request)
            #expect(answer.response?.address.target == "/next?q")
            #expect(server.requests.last?.method == method)
            #expect(server.requests.last?.text == body)
            await server.stop()
        }
    }

    @Test func `redirects in a circle end at the limit`() async throws {
        let server = try await StandIn { _ in .plain(302, [("Location", "/again")]) }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.redirects = 3
        #expect(try await follow(server, in: settings).kind == .redirectRefused)
        #expect(server.requests.count == 4)
        await server.stop()
    }

    @Test(arguments: [
        "javascript:alert(1)", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "http://a\\b/", "//", "http://",
    ])
    func `a redirect that leads nowhere is the answer itself`(location: String) async throws {
        let server = try await StandIn { _ in .plain(302, [("Location", location)]) }
        #expect(try await follow(server, in: .loopback([server.address])).response?.status == 302)
        await server.stop()
    }

    private func follow(
        _ server: StandIn, in settings: UpstreamSettings, names: any NameResolver = ScriptedNames([["127.0.0.1"]]),
        _ change: (inout UpstreamRequest) -> Void = { _ in }
    ) async throws -> Result<UpstreamResponse, UpstreamFailure> {
        var request = UpstreamRequest(.get, try address(server.address))
        request.redirects = .followed
        change(&request)
        return await ask(settings, request, names: names)
    }
}
