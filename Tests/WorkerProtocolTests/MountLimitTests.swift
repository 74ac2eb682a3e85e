import AdapterKit
import AdapterProtocol
import AdapterTesting
import Testing
import WorkerHost
import WorkerTesting

/// Requests to a worker's mounts whose answers nobody reads, and bodies that the worker does not read.
@Suite struct `Mounts of a worker` {
    @Test func `are asked no more than a connection has streams, until an answer has ended`() async throws {
        var limits = SessionLimits()
        limits.mounts = 2
        let (session, peer) = try await RawPeer.session(limits: limits)
        defer { session.close() }
        var open: [MountResponse] = []
        for stream in 1...2 { open.append(try await answer(session, peer, withStream: stream)) }
        let further = try Self.request()
        let refused = await #expect(throws: PorticoError.self) { try await session.handle(further) }
        #expect(refused?.code == .overloaded)
        // One that is not read any more gives its place to the next.
        try cancel(open[0])
        _ = try await peer.received { $0["stop"] == 1 }
        open.append(try await answer(session, peer, withStream: 3))
        // So does a request that fails.
        try cancel(open[1])
        let failing = try Self.request()
        let failed = Task { try await session.handle(failing) }
        let asked = try await peer.received { $0["method"] == "mount" }
        try peer.send([
            "response": asked["request"] ?? .null, "error": ["error": ["code": "record.notFound", "message": "None."]],
        ])
        await #expect(throws: PorticoError.self) { try await failed.value }
        open.append(try await answer(session, peer, withStream: 4))
    }

    @Test func `get the rest of a body no more once they have answered`() async throws {
        let (session, peer) = try await RawPeer.session()
        defer { session.close() }
        async let response = session.handle(try Self.request(body: Array(repeating: 7, count: 1 << 20)))
        let asked = try await peer.received { $0["method"] == "mount" }
        try peer.send([
            "response": asked["request"] ?? .null, "result": ["status": 404, "headers": [], "body": .data([])],
        ])
        #expect(try await response.status == 404)
        // The worker has granted nothing, so the sender has stopped.
        _ = try await peer.received { $0["stream"] == 1 && ($0["end"] != nil || $0["error"] != nil) }
    }

    private func cancel(_ response: MountResponse) throws {
        guard case .stream(let body) = response.body else { throw MessageError("a stream is expected") }
        body.cancel()
    }

    private func answer(
        _ session: WorkerConnection, _ peer: RawPeer, withStream number: Int
    ) async throws -> MountResponse {
        async let response = session.handle(try Self.request())
        let asked = try await peer.received { $0["method"] == "mount" }
        try peer.send([
            "response": asked["request"] ?? .null,
            "result": ["status": 200, "headers": [], "body": ["stream": .int64(Int64(number))]],
        ])
        return try await response
    }

    private static func request(body: [UInt8] = []) throws -> MountRequest {
        MountRequest(
            mount: "files", method: "PUT", target: "/files/a", origin: "http://localhost", headers: [:], body: body,
            caller: .testUser, requestID: "r", deadline: .now + .seconds(300),
            records: try MemoryRecords(SampleModule.declare(AdapterConfiguration())).seen(by: .testUser),
            log: .discarding)
    }
}
