import AdapterKit
import AdapterTesting
import Testing
import WorkerHost

/// What a worker may ask for is bound to the call that it answers.
@Suite struct `The rights of a worker` {
    private func started(
        _ upstream: any Upstream, _ records: any RecordStore
    ) async throws -> (WorkerConnection, RawPeer) {
        let (session, peer) = try await RawPeer.session()
        async let start: Void = session.start(
            AdapterContext(
                records: records, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock(),
                upstream: upstream))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 2, "result": .null])
        try await start
        return (session, peer)
    }

    private func upstream(actsForCallers: Bool = true) throws -> ScriptedUpstream {
        ScriptedUpstream(url: try #require(UpstreamAddress("http://localhost/")), actsForCallers: actsForCallers) {
            (request, _) async throws(UpstreamFailure) -> UpstreamResponse in
            UpstreamResponse(address: request.address, status: 200, fields: [:], body: [1])
        }
    }

    private func call(_ session: WorkerConnection, _ records: any RecordStore) async throws -> OperationResult {
        try await session.handle(
            Call(
                operation: "echo", input: [:], caller: .testUser, requestID: "r", deadline: .now + .seconds(600),
                records: records, log: .discarding))
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
        let records = try MemoryRecords(SampleModule.declare(AdapterConfiguration()))
        let (session, peer) = try await started(upstream, records.unrestricted)
        async let answer = call(session, records.seen(by: .testUser))
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
        let counted = try await peer.received { $0["response"] == 4 }
        #expect(counted["error"]?["error"]?["code"] == "adapter.unavailable")
        try peer.send(["response": 3, "result": ["content": "nothing"]])
        #expect(try await answer == .nothing)
        try peer.send(ask(5, "someone", in: 3))
        let late = try await peer.received { $0["response"] == 5 }
        #expect(late["error"]?["error"]?["code"] == "adapter.unavailable")
        #expect(upstream.asked.map { $0.caller?.name } == ["someone"])
        session.close()
    }

    /// It was sent before the response, or asks for nothing that is the caller's.
    @Test func `to its own records and upstreams outlast the call in whose course it asks`() async throws {
        try await withStoredSamples { records in
            let upstream = try upstream(actsForCallers: false)
            let (session, peer) = try await started(upstream, records)
            async let answer = call(session, records)
            _ = try await peer.received { $0["method"] == "call" }
            try peer.send([
                "request": 1, "method": "openSnapshot", "for": 3, "params": ["as": "caller", "within": 60_000_000_000],
            ])
            let opened = try await peer.received { $0["response"] == 1 }
            try peer.send(["response": 3, "result": ["content": "nothing"]])
            #expect(try await answer == .nothing)

            func late(_ number: Int64, _ method: String, _ parameters: WireDictionary, in call: Int64 = 3) async throws
                -> WireValue
            {
                try peer.send([
                    "request": .int64(number), "method": .string(method), "for": .int64(call),
                    "params": .dictionary(parameters),
                ])
                return try await peer.received { $0["response"] == .int64(number) }
            }
            #expect(try await late(2, "count", ["entity": "items"])["result"] == 1_000)
            #expect(try await late(3, "account", ["name": "none"])["result"] == .null)
            let asked: WireDictionary = [
                "upstream": "upstream", "method": "GET", "address": "http://localhost/", "body": .data([]),
                "whole": true,
            ]
            #expect(try await late(4, "upstream", asked)["result"]?["status"] == 200)
            // Not the caller's, whose snapshot was closed with the call, and no call that never was.
            let own = try await late(5, "count", ["entity": "items", "as": "caller"])
            #expect(own["error"]?["error"]?["code"] == "adapter.unavailable")
            let snapshot = opened["result"]?["snapshot"] ?? .null
            let read = try await late(6, "readSnapshot", ["snapshot": snapshot, "read": "count", "entity": "items"])
            #expect(read["error"]?["error"]?["code"] == "server.deadlineExceeded")
            for (number, refused) in [
                (7, try await late(7, "readSnapshot", ["snapshot": 0, "read": "count", "entity": "items"])),
                (8, try await late(8, "age", ["entities": ["items"]])), (9, try await late(9, "reseed", [:])),
                (10, try await late(10, "count", ["entity": "items"], in: 99)),
            ] {
                #expect(refused["error"]?["error"]?["code"] == "adapter.unavailable", "\(number)")
            }
            session.close()
        }
    }
}
