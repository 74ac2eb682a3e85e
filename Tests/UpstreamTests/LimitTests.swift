import AdapterKit
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

@Suite struct LimitTests {
    @Test func `an answer that never ends is left off at the limit`() async throws {
        let answer = try await answer(.endless) { $0.limits.answer = 100_000 }
        #expect(answer.kind == .answerTooLarge)
    }

    @Test func `an answer of exactly the limit passes, one byte more does not`() async throws {
        let body = String(repeating: "x", count: 1000)
        #expect(try await answer(.plain(200, [], body)) { $0.limits.answer = 1000 }.text == body)
        #expect(try await answer(.plain(200, [], body)) { $0.limits.answer = 999 }.kind == .answerTooLarge)
    }

    @Test func `header fields have a limit of their own`() async throws {
        let fields = (0..<20).map { ("X-Field-\($0)", String(repeating: "x", count: 100)) }
        #expect(try await answer(.plain(200, fields)) { $0.limits.head = 1000 }.kind == .answerTooLarge)
    }

    @Test(arguments: [StandIn.Answer.silence, .trickle])
    func `a slow answer ends at the deadline, whether it is silent or trickles`(slow: StandIn.Answer) async throws {
        let answer = try await answer(slow) { $0.limits.deadline = .milliseconds(200) }
        #expect(answer.kind == .timedOut)
    }

    @Test func `a request may be more impatient than its upstream, and more patient up to the long deadline`()
        async throws
    {
        let impatient = try await answer(.silence, requestDeadline: .milliseconds(50)) {
            $0.limits.deadline = .seconds(3600)
        }
        #expect(impatient.kind == .timedOut)
        let patient = try await answer(.silence, requestDeadline: .seconds(3600)) {
            $0.limits.deadline = .milliseconds(10)
            $0.limits.longDeadline = .milliseconds(50)
        }
        #expect(patient.kind == .timedOut)
    }

    @Test func `the deadline holds for a name server too`() async throws {
        var settings = UpstreamSettings.loopback(["http://erp.internal"])
        settings.limits.deadline = .milliseconds(50)
        let answer = await ask(
            settings, UpstreamRequest(.get, try address("http://erp.internal/")), names: SilentNames())
        #expect(answer.kind == .timedOut)
    }

    @Test func `the caller's deadline holds, however patient the upstream is`() async throws {
        let server = try await StandIn { _ in .silence }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.deadline = .seconds(3600)
        settings.limits.firstByte = .seconds(3600)
        var request = UpstreamRequest(.get, try address(server.address))
        request.deadline = .seconds(600)
        let context = CallContext(deadline: .now + .milliseconds(50), requestID: "1")
        let answer = await CallContext.$current.withValue(context) { [settings, request] in
            await ask(settings, request)
        }
        #expect(answer.kind == .timedOut)
        await server.stop()
    }

    @Test func `a server that is silent for too long ends the call before its deadline`() async throws {
        for answer in [StandIn.Answer.silence, .headOnly] {
            let server = try await StandIn { $0.path == "/slow" ? answer : .plain(200) }
            var settings = UpstreamSettings.loopback([server.address])
            settings.limits.deadline = .seconds(3600)
            settings.limits.connect = .seconds(2)
            settings.limits.firstByte = .milliseconds(50)
            settings.limits.tries = 1
            settings.limits.failures = 1_000
            let upstream = HTTPUpstream(settings, log: .discarding)
            let slow = UpstreamRequest(.get, try address(server.address + "/slow"))
            // A connection that is there cannot come too late, which would be another failure.
            while (try? await upstream.send(UpstreamRequest(.get, try address(server.address + "/quick")))) == nil {}
            let failure = await #expect(throws: UpstreamFailure.self) { try await upstream.send(slow) }
            #expect(failure?.kind == .timedOut)
            await upstream.stop()
            await server.stop()
        }
    }

    @Test func `calls beyond the limit wait for their turn, and beyond the queue they are refused`() async throws {
        let server = try await StandIn { $0.path == "/slow" ? .silence : .plain(200) }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.connections = 1
        settings.limits.queue = 1
        let slow = UpstreamRequest(.get, try address(server.address + "/slow"))
        let quick = UpstreamRequest(.get, try address(server.address + "/quick"))
        let upstream = HTTPUpstream(settings, log: .discarding)
        let first = Task { try await upstream.send(slow) }
        while !Task.isCancelled, server.requests.isEmpty { await Task.yield() }
        let second = Task { try await upstream.send(quick) }
        while !Task.isCancelled, upstream.status.waiting == 0 { await Task.yield() }
        let refused = await #expect(throws: UpstreamFailure.self) { try await upstream.send(quick) }
        #expect(refused?.kind == .overloaded)
        first.cancel()
        let failure = await #expect(throws: UpstreamFailure.self) { try await first.value }
        #expect(failure?.kind == .cancelled)
        #expect(try await second.value.status == 200)
        while !Task.isCancelled, upstream.status.active > 0 { await Task.yield() }
        await upstream.stop()
        await server.stop()
    }

    @Test func `calls of one account that hang leave another its turn`() async throws {
        let server = try await StandIn { $0.path == "/slow" ? .silence : .plain(200) }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.connections = 4
        settings.limits.queue = 8
        let upstream = HTTPUpstream(settings, log: .discarding)
        let slow = UpstreamRequest(.get, try address(server.address + "/slow"))
        let quick = UpstreamRequest(.get, try address(server.address + "/quick"))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    await CallerIdentity.$current.withValue(.account("alice")) { _ = try? await upstream.send(slow) }
                }
            }
            while !Task.isCancelled, upstream.status.active < 3 || upstream.status.waiting < 4 { await Task.yield() }
            await CallerIdentity.$current.withValue(.account("bob")) {
                for _ in 0..<20 {
                    let answer = try? await upstream.send(quick)
                    #expect(answer?.status == 200)
                }
            }
            #expect(upstream.status.active == 3)
            group.cancelAll()
        }
        await upstream.stop()
        await server.stop()
    }

    @Test func `the fields of the connection and of the server are not the adapter's to choose`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        let request = UpstreamRequest(
            .post, try address(server.address),
            fields: [
                "Host": "other.example", "Connection": "X-Kept", "Upgrade": "h2c", "TE": "trailers",
                "Expect": "100-continue",
                "Transfer-Encoding": "chunked", "Content-Length": "1", "Proxy-Authorization": "Basic eA==",
                "X-Kept": "kept",
            ], body: Array("whole".utf8))
        let answer = await ask(.loopback([server.address]), request)
        #expect(try answer.get().status == 200)
        let seen = try #require(server.requests.first)
        #expect(seen["Host"] == "127.0.0.1:\(server.port)" && seen["X-Kept"] == "kept" && seen.text == "whole")
        for name in ["Upgrade", "TE", "Expect", "Transfer-Encoding", "Proxy-Authorization"] {
            #expect(seen[name] == nil)
        }
        #expect(seen["Connection"] == nil && seen["Content-Length"] == "5")
        await server.stop()
    }

    @Test func `what cannot be sent is refused, and says nothing about the server`() async throws {
        let server = try await StandIn { _ in .plain(200) }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.failures = 2
        let upstream = HTTPUpstream(settings, log: .discarding)
        let many = (0..<2_000).map { (name: "X-\($0)", value: String(repeating: "v", count: 10)) }
        let hostile: [UpstreamHeaders] = [
            ["X-A": "one\r\nX-B: two"], ["X-A": "\u{0}"], ["X A": "v"], ["": "v"], ["X:A": "v"],
            ["X-A": String(repeating: "v", count: 70_000)], [String(repeating: "n", count: 66_000): "v"],
            UpstreamHeaders(many),
        ]
        for fields in hostile {
            let good = UpstreamRequest(.post, try address(server.address), body: Array("a body".utf8))
            // The next one would go over the same connection.
            #expect(try await upstream.send(good).status == 200)
            let bad = UpstreamRequest(.post, try address(server.address), fields: fields, body: Array("a body".utf8))
            let failure = await #expect(throws: UpstreamFailure.self) { try await upstream.send(bad) }
            #expect(failure?.kind == .destinationRefused)
        }
        #expect(server.requests.count == hostile.count)
        await upstream.stop()
        await server.stop()
    }

    @Test func `a caller in a hurry says nothing about the server`() async throws {
        let server = try await StandIn { $0.path == "/slow" ? .silence : .plain(200) }
        var settings = UpstreamSettings.loopback([server.address])
        settings.limits.failures = 2
        settings.limits.tries = 1
        let upstream = HTTPUpstream(settings, log: .discarding)
        var hurried = UpstreamRequest(.get, try address(server.address + "/slow"))
        hurried.deadline = .milliseconds(5)
        let slow = hurried
        for _ in 0..<6 {
            let failure = await #expect(throws: UpstreamFailure.self) { try await upstream.send(slow) }
            #expect(failure?.kind == .timedOut)
        }
        #expect(upstream.status.openCircuits.isEmpty)
        #expect(try await upstream.send(UpstreamRequest(.get, try address(server.address + "/quick"))).status == 200)
        await upstream.stop()
        await server.stop()
    }

    @Test func `calls that fail at once are logged once a second, with their number`() async throws {
        let messages = Mutex<[LogMessage]>([])
        let upstream = HTTPUpstream(
            .loopback(["http://127.0.0.1:1"]), log: Log { message in messages.withLock { $0.append(message) } })
        let elsewhere = UpstreamRequest(.get, try address("http://127.0.0.1:2/"))
        func fail() async {
            let failure = await #expect(throws: UpstreamFailure.self) { try await upstream.send(elsewhere) }
            #expect(failure?.kind == .destinationRefused)
        }
        let begin = ContinuousClock.now
        for _ in 0..<500 { await fail() }
        let seconds = Int((ContinuousClock.now - begin) / .seconds(1))
        let logged = messages.withLock { $0.count }
        #expect((1...1 + seconds).contains(logged))
        try await Task.sleep(for: .seconds(1))
        await fail()
        let last = messages.withLock { $0.last }
        #expect(last?.text == "upstream call failed")
        if seconds == 0 { #expect(last?.values.last == .init(key: "omitted", value: .count(499))) }
        await upstream.stop()
    }

    @Test func `what a caller learns names the system, not where it is`() {
        for kind in UpstreamFailure.Kind.allCases {
            let error = UpstreamFailure(kind, of: "erp", detail: "10.0.0.1").asError
            #expect(error.message.contains("erp") || [.cancelled, .signInRequired].contains(kind))
            #expect(!error.message.contains("10.0.0.1"))
        }
        #expect(UpstreamFailure(.timedOut, of: "erp").asError.code == .upstreamTimeout)
        #expect(UpstreamFailure(.broken, of: "erp").asError.code == .upstreamFailed)
    }

    private func answer(
        _ answer: StandIn.Answer, requestDeadline: Duration? = nil, _ adjust: (inout UpstreamSettings) -> Void
    ) async throws -> Result<UpstreamResponse, UpstreamFailure> {
        let server = try await StandIn { _ in answer }
        var settings = UpstreamSettings.loopback([server.address])
        adjust(&settings)
        var request = UpstreamRequest(.get, try address(server.address))
        request.deadline = requestDeadline
        let result = await ask(settings, request)
        await server.stop()
        return result
    }
}
