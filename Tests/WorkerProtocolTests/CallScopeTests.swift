import AdapterKit
import AdapterTesting
import Testing
import WorkerHost

/// What a worker may ask for is bound to the call that it answers.
@Suite struct `The rights of a worker` {
    private func started(_ upstream: any Upstream) async throws -> (WorkerConnection, RawPeer) {
        let (session, peer) = try await RawPeer.session()
        let declaration = try SampleModule.declare(AdapterConfiguration())
        let records = try MemoryRecords(declaration)
        async let start: Void = session.start(
            AdapterContext(
                records: records.unrestricted, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock(),
                upstream: upstream))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 2, "result": .null])
        try await start
        return (session, peer)
    }

    private func upstream() throws -> ScriptedUpstream {
        ScriptedUpstream(url: try #require(UpstreamAddress("http://localhost/")), actsForCallers: true) {
            (request, _) async throws(UpstreamFailure) -> UpstreamResponse in
            UpstreamResponse(address: request.address, status: 200, fields: [:], body: [1])
        }
    }

    private func call(_ session: WorkerConnection) async throws -> OperationResult {
        let records = try MemoryRecords(SampleModule.declare(AdapterConfiguration()))
        return try await session.handle(
            Call(
                operation: "echo", input: [:], caller: .testUser, requestID: "r", deadline: .now + .seconds(600),
                records: records.seen(by: .testUser), log: .discarding))
    }

    private func ask(_ number: Int64, _ caller: String, in scope: Int64?) -> WireValue {
        var request: WireDictionary = ["request": .int64(number), "method": "upstream"]
        if let scope { request["for"] = .int64(scope) }
        request["params"] = [
            "upstream": "upstream", "method": "GET", "address": "http://localhost/", "body": .data([]), "whole": true,
            "caller": .string(caller),
        ]
        return .dictionary(request)
    }

    @Test func `are those of the caller whose call it answers, and end with the call`() async throws {
        let upstream = try upstream()
        let (session, peer) = try await started(upstream)
        async let answer = call(session)
        _ = try await peer.received { $0["method"] == "call" }
        try peer.send(ask(1, "someone", in: 3))
        let own = try await peer.received { $0["response"] == 1 }
        #expect(own["result"]?["status"] == 200)
        try peer.send(ask(2, "another", in: 3))
        let others = try await peer.received { $0["response"] == 2 }
        #expect(others["error"]?["upstream"]?["kind"] == "signInRequired")
        try peer.send(ask(3, "someone", in: nil))
        let without = try await peer.received { $0["response"] == 3 }
        #expect(without["error"]?["upstream"]?["kind"] == "signInRequired")
        try peer.send(["request": 4, "method": "count", "params": ["as": "caller", "entity": "items"]])
        let records = try await peer.received { $0["response"] == 4 }
        #expect(records["error"]?["error"]?["code"] == "adapter.unavailable")
        try peer.send(["response": 3, "result": ["content": "nothing"]])
        #expect(try await answer == .nothing)
        try peer.send(ask(5, "someone", in: 3))
        let late = try await peer.received { $0["response"] == 5 }
        #expect(late["error"]?["error"]?["code"] == "adapter.unavailable")
        #expect(upstream.asked.map { $0.caller?.name } == ["someone"])
        session.close()
    }
}
