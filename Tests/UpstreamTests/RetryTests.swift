import AdapterKit
import Testing
import Upstream
import UpstreamStandIn

@Suite struct RetryTests {
    @Test func `a reading is tried again as often as the limit says`() async throws {
        for answer in [StandIn.Answer.hangUp, .plain(503)] {
            let server = try await StandIn { _ in answer }
            _ = await ask(.loopback([server.address]), UpstreamRequest(.get, try address(server.address)))
            #expect(server.requests.count == 3)
            await server.stop()
        }
    }

    @Test func `a write is tried once, since it may have happened`() async throws {
        for answer in [StandIn.Answer.hangUp, .plain(503)] {
            let server = try await StandIn { _ in answer }
            let request = UpstreamRequest(posting: ["a": "b"], to: try address(server.address))
            _ = await ask(.loopback([server.address]), request)
            #expect(server.requests.count == 1)
            await server.stop()
        }
    }

    @Test func `the answer after a failure is the answer`() async throws {
        let tries = Counter()
        let server = try await StandIn { _ in tries.next() == 1 ? .hangUp : .plain(200, [], "there") }
        let answer = await ask(.loopback([server.address]), UpstreamRequest(.get, try address(server.address)))
        #expect(answer.text == "there")
        await server.stop()
    }

    @Test func `the last answer with an error status is delivered`() async throws {
        let server = try await StandIn { _ in .plain(503, [], "later") }
        let answer = await ask(.loopback([server.address]), UpstreamRequest(.get, try address(server.address)))
        #expect(answer.response?.status == 503)
        #expect(answer.text == "later")
        await server.stop()
    }

    @Test func `where no server listens at one address the next one is tried, for writes too`() async throws {
        let server = try await StandIn { _ in .plain(200, [], "there") }
        let place = "http://erp.internal:\(server.port)"
        let request = UpstreamRequest(posting: ["a": "b"], to: try address(place))
        let answer = await ask(.loopback([place]), request, names: ScriptedNames([["127.0.0.4", "127.0.0.1"]]))
        #expect(answer.text == "there")
        await server.stop()
    }

    @Test func `an address without a listening server is a failure with a name`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        await server.stop()
        let answer = await ask(.loopback([server.address]), UpstreamRequest(.get, try address(server.address)))
        #expect(answer.kind == .unreachable)
    }

    @Test func `connections are kept for the next call`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        let upstream = HTTPUpstream(.loopback([server.address]), log: .discarding)
        for _ in 0..<50 { _ = try await upstream.send(UpstreamRequest(.get, try address(server.address))) }
        #expect(server.connections < 10)
        await upstream.stop()
        await server.stop()
    }
}
