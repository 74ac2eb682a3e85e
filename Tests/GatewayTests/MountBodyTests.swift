import AdapterKit
import HTTPTypes
import Synchronization
import Testing

@testable import Gateway

/// Bodies that an adapter gives as streams, of answers that are not sent: a stream that nobody ends keeps what its call may do.
@Suite struct MountBodyTests {
    private final class Body: ByteStream {
        private let wasCancelled = Atomic<Bool>(false)
        var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }
        func next() async throws -> [UInt8]? { nil }
        func cancel() { wasCancelled.store(true, ordering: .releasing) }
    }

    private struct Streams: Adapter {
        let status: Int
        let headers: MountHeaders
        let body = Body()

        func handle(_ call: Call) async throws -> OperationResult { .nothing }
        func handle(_ request: MountRequest) async throws -> MountResponse {
            MountResponse(status, headers: headers, body: .stream(body))
        }
    }

    private struct Answering: Adapter {
        let status: Int
        let headers: MountHeaders
        let isStreamed: Bool
        static let body = [UInt8](repeating: 0x41, count: 5_000)

        private final class Pieces: ByteStream {
            private let wasRead = Atomic<Bool>(false)
            func next() async throws -> [UInt8]? {
                wasRead.exchange(true, ordering: .acquiringAndReleasing) ? nil : Answering.body
            }
            func cancel() {}
        }

        func handle(_ call: Call) async throws -> OperationResult { .nothing }
        func handle(_ request: MountRequest) async throws -> MountResponse {
            MountResponse(status, headers: headers, body: isStreamed ? .stream(Pieces()) : .bytes(Self.body))
        }
    }

    private func answer(_ status: Int, _ headers: MountHeaders, isStreamed: Bool) async throws -> GatewayAnswerRead {
        try await NotesGateway(adapter: Answering(status: status, headers: headers, isStreamed: isStreamed)).send(
            .get, "/files/stream", [.acceptEncoding: "gzip"])
    }

    @Test(arguments: [true, false])
    func `a body that is coded says so to caches, also where it is not`(isStreamed: Bool) async throws {
        let coded = try await answer(200, [:], isStreamed: isStreamed)
        #expect(coded.fields[.contentEncoding] == "gzip" && coded.fields[.vary]?.contains("Accept-Encoding") == true)
        let further = try await answer(200, ["Vary": "X-Colour"], isStreamed: isStreamed)
        #expect(further.fields[.vary]?.hasPrefix("X-Colour, Accept-Encoding") == true)
        let own = try await answer(200, ["Vary": "accept-encoding"], isStreamed: isStreamed)
        #expect(own.fields[.vary]?.hasPrefix("accept-encoding, Accept") == false)
        let plain = try await NotesGateway(adapter: Answering(status: 200, headers: [:], isStreamed: isStreamed))
            .get("/files/stream")
        #expect(plain.fields[.contentEncoding] == nil && plain.fields[.vary]?.contains("Accept-Encoding") == true)
    }

    @Test(arguments: [true, false])
    func `a body that has a coding of its own, and a part of one, are sent as they are`(isStreamed: Bool) async throws {
        let own = try await answer(200, ["Content-Encoding": "br"], isStreamed: isStreamed)
        #expect(own.fields[.contentEncoding] == "br" && own.fields[.vary]?.contains("Accept-Encoding") != true)
        #expect(isStreamed || own.body == Answering.body)
        let part = try await answer(206, ["Content-Range": "bytes 0-4999/9000"], isStreamed: isStreamed)
        #expect(part.fields[.contentEncoding] == nil && (isStreamed || part.body == Answering.body))
    }

    struct Case: Sendable {
        let status: Int
        var headers: MountHeaders = [:]
        var method = HTTPRequest.Method.get
        var asked: HTTPFields = [:]
        let answer: Int
    }

    @Test(arguments: [
        Case(status: 99, answer: 500), Case(status: 600, answer: 500), Case(status: .max, answer: 500),
        Case(
            status: 200, headers: MountHeaders(["a", "b"].map { MountHeaders.Field("Location", $0) }), answer: 500),
        Case(status: 200, headers: ["X-Text": "a\r\nb: c"], answer: 500),
        Case(status: 200, headers: ["X Text": "a"], answer: 500),
        Case(status: 204, answer: 204), Case(status: 304, answer: 304), Case(status: 200, method: .head, answer: 200),
        Case(status: 200, headers: ["ETag": "\"1\""], asked: [.ifMatch: "\"2\""], answer: 412),
        Case(status: 200, headers: ["ETag": "\"1\""], asked: [.ifNoneMatch: "\"1\""], answer: 304),
        // Its connection has gone meanwhile.
        Case(status: 200, answer: 200), Case(status: 200, asked: [.acceptEncoding: "gzip"], answer: 200),
    ])
    func `a body that is not sent is cancelled`(_ asked: Case) async throws {
        let adapter = Streams(status: asked.status, headers: asked.headers)
        let host = try await NotesGateway(adapter: adapter)
        let answer = try await host.send(asked.method, "/files/stream", asked.asked)
        #expect(answer.status == asked.answer, "\(answer)")
        #expect(adapter.body.isCancelled)
    }
}
