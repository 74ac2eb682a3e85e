import AdapterKit
import AdapterProtocol
import Testing
import WorkerHost
import WorkerTesting

/// The shapes that an adapter gives to the errors below its mounts.
@Suite struct `Error shapes of a worker` {
    private let failure = MountFailure(
        mount: "lines", method: "PUT", target: "/ruled/é?x=1", headers: ["Accept": "text/plain"], requestID: "r-1")
    private let error = PorticoError(.recordNotFound, "There is none.", target: "path", retryAfter: 3, logDetail: "d")

    @Test func `are those of the same adapter in the process`() async throws {
        let pair = try await WorkerPair(RuledModule.self, AdapterConfiguration())
        defer { pair.session.close() }
        let description = try await pair.session.describe(AdapterConfiguration())
        #expect(description.shapedErrors == ["lines"])
        let inProcess = try RuledModule.make(AdapterConfiguration())
        let expected = try #require(inProcess.errorResponse(for: error, status: 404, to: failure))
        let shaped = try #require(try await pair.session.shapedError(error, status: 404, to: failure))
        #expect(shaped.status == expected.status && shaped.headers == expected.headers)
        guard case .bytes(let bytes) = shaped.body, case .bytes(let wanted) = expected.body else {
            Issue.record("a body of an error is whole")
            return
        }
        #expect(bytes == wanted)
        // An error that the adapter leaves to the gateway.
        let other = PorticoError(.accessDenied, "No.")
        #expect(try await pair.session.shapedError(other, status: 403, to: failure)?.status == nil)
    }

    @Test func `are not those of a program that was built before it could be asked`() async throws {
        let (session, peer) = try await RawPeer.session()
        defer { session.close() }
        async let described = session.describe(AdapterConfiguration())
        _ = try await peer.received { $0["method"] == "declare" }
        let declaration = try RuledModule.declare(AdapterConfiguration()).message
        try peer.send(["response": 2, "result": ["declaration": declaration, "shapedErrors": ["lines"]]])
        do {
            _ = try await described
            Issue.record("it is declared")
        } catch let refusal as WorkerRefusal {
            #expect(refusal.description.contains("lines") && refusal.description.contains("build it again"))
        }
    }
}
