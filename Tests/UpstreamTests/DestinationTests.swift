import AdapterKit
import IPAddresses
import Testing
import Upstream
import UpstreamStandIn

@Suite struct DestinationTests {
    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "::1", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "224.0.0.1", "255.255.255.255", "::", "::127.0.0.1",
    ])
    func `a name that leads into a network of its own is refused`(address: String) async throws {
        let settings = UpstreamSettings.patient(["https://erp.example.com"])
        let answer = await ask(
            settings, UpstreamRequest(.get, try Self.page()), names: ScriptedNames([[address]]))
        #expect(answer.kind == .destinationRefused)
    }

    @Test(arguments: ["http://127.0.0.1:1/", "http://[::1]:1/", "http://0x7f.1:1/", "http://2130706433:1/"])
    func `an address instead of a name is checked like what a name means`(text: String) async throws {
        let target = try address(text)
        let settings = UpstreamSettings.patient([text])
        let answer = await ask(settings, UpstreamRequest(.get, target), names: SystemNameResolver())
        // A system may or may not read the odd notations; none of them leads inside.
        #expect(answer.kind == .destinationRefused || answer.kind == .unreachable)
    }

    @Test func `a server that is not configured is not asked, not even for its name`() async throws {
        let settings = UpstreamSettings.patient(["https://other.example.com"])
        let names = ScriptedNames([["127.0.0.1"]])
        let answer = await ask(settings, UpstreamRequest(.get, try Self.page()), names: names)
        #expect(answer.kind == .destinationRefused)
        #expect(names.count == 0)
    }

    @Test func `another port or another scheme is another server`() async throws {
        let settings = UpstreamSettings.patient(["https://erp.example.com"])
        for text in ["https://erp.example.com:8443/", "http://erp.example.com/", "http://erp.example.com:443/"] {
            #expect(await ask(settings, UpstreamRequest(.get, try address(text))).kind == .destinationRefused)
        }
    }

    @Test func `a network that was allowed can be reached, and only that one`() async throws {
        let server = try await StandIn { _ in .plain(200, [], "inside") }
        var settings = UpstreamSettings.loopback(["http://erp.internal:\(server.port)"])
        let request = UpstreamRequest(.get, try address("http://erp.internal:\(server.port)/"))
        #expect(await ask(settings, request).text == "inside")
        #expect(server.requests.first?["Host"] == "erp.internal:\(server.port)")
        settings.privateNetworks = ["10.0.0.0/8", "127.0.0.2"]
        #expect(await ask(settings, request).kind == .destinationRefused)
        await server.stop()
    }

    @Test func `of several addresses the forbidden ones are left out`() async throws {
        let server = try await StandIn { _ in .plain(200, [], "allowed") }
        let settings = UpstreamSettings.loopback(["http://erp.internal:\(server.port)"])
        let request = UpstreamRequest(.get, try address("http://erp.internal:\(server.port)/"))
        let answer = await ask(settings, request, names: ScriptedNames([["10.0.0.1", "127.0.0.1"]]))
        #expect(answer.text == "allowed")
        await server.stop()
    }

    @Test func `the connection goes to the address that was checked, whatever the name means a snapshot later`()
        async throws
    {
        // `localhost` is what the operating system would connect to; the checked answer says 127.0.0.3, where nobody
        // listens on that port.
        let server = try await StandIn { _ in .plain(200, [], "rebound") }
        var settings = UpstreamSettings.loopback(["http://localhost:\(server.port)"])
        settings.privateNetworks = ["127.0.0.3"]
        settings.limits.tries = 1
        let request = UpstreamRequest(.get, try address("http://localhost:\(server.port)/"))
        let answer = await ask(settings, request, names: ScriptedNames([["127.0.0.3"], ["127.0.0.1"]]))
        #expect(answer.kind == .unreachable)
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test func `a name that turns to the inside between two calls is refused at the second`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        var settings = UpstreamSettings.loopback(["http://erp.internal:\(server.port)"])
        settings.limits.names = .zero
        let request = UpstreamRequest(.get, try address("http://erp.internal:\(server.port)/"))
        let upstream = HTTPUpstream(
            settings, resolver: ScriptedNames([["127.0.0.1"], ["10.0.0.1"]]), log: .discarding)
        #expect(try await upstream.send(request).status == 200)
        await #expect(throws: UpstreamFailure.self) { try await upstream.send(request) }
        #expect(server.requests.count == 1)
        await upstream.stop()
        await server.stop()
    }

    @Test(arguments: [
        "/caf%E9/7", "/caf%c3%a9", "/a%2Fb%2e%2E/c", "/%zz", "/%", "/a//b/", "/a;b=c,d/(e)'!*$&+@:~", "/?", "/a?",
        "/a?b=%E9&c=%2B+[d]", "/?/../x", "/a?b?c", "/%00", "/a%0D%0Ab",
    ])
    func `the bytes of the target that was checked are sent`(target: String) async throws {
        let server = try await StandIn { _ in .plain(200, [], "here") }
        for method in [UpstreamRequest.Method.get, .delete, .post] {
            var request = UpstreamRequest(method, try address(server.address + target))
            if method == .post { request.body = Array("whole".utf8) }
            #expect(await ask(.loopback([server.address]), request).text == "here")
        }
        #expect(server.requests.map(\.target) == [target, target, target])
        #expect(server.requests.allSatisfy { $0["Host"] == "127.0.0.1:\(server.port)" })
        #expect(server.requests.allSatisfy { $0["portico-request-target"] == nil })
        await server.stop()
    }

    @Test func `the target of a redirect is asked for byte by byte`() async throws {
        let server = try await StandIn { request in
            request.target == "/old" ? .plain(302, [("Location", "caf%E9/7?a=%E9")]) : .plain(200, [], request.target)
        }
        var request = UpstreamRequest(.get, try address(server.address + "/old"))
        request.redirects = .followed
        let answer = await ask(.loopback([server.address]), request)
        #expect(answer.text == "/caf%E9/7?a=%E9")
        await server.stop()
    }

    @Test func `no field of a request says where it goes`() async throws {
        let server = try await StandIn { _ in .plain(200, [], "here") }
        let request = UpstreamRequest(
            .get, try address(server.address + "/checked"), fields: ["Portico-Request-Target": "/other"])
        #expect(await ask(.loopback([server.address]), request).text == "here")
        #expect(server.requests.map(\.target) == ["/checked"])
        await server.stop()
    }

    private func origin(_ text: String) throws -> UpstreamOrigin { try address(text).origin }
    private static func page() throws -> UpstreamAddress { try address("https://erp.example.com/page") }
}
