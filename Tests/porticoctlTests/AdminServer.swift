import AdapterKit
import Foundation
import HTTPServer
import HTTPTypes
import IPAddresses
import NIOCore
import Synchronization
import WireFormats

/// What a command asked for.
struct AdminRequest: Sendable, Equatable {
    var method: String
    var target: String
    /// Null where there was no body; CBOR is read, other bodies are their bytes.
    var body: WireValue
    var type: String?

    init(_ method: String, _ target: String, _ body: WireValue = .null, type: String? = nil) {
        self.method = method
        self.target = target
        self.body = body
        self.type = type
    }
}

/// Answers in a gateway's place, over HTTP: at the admin socket of a data directory, and at an address for clients.
final class AdminServer: RequestResponder {
    typealias Answer = (status: Int, body: WireValue)

    private let answers: @Sendable (AdminRequest) -> Answer
    /// What clients without the admin socket are answered, by path.
    private let files: [String: [UInt8]]
    private let log = Mutex<[AdminRequest]>([])

    init(files: [String: [UInt8]] = [:], _ answers: @escaping @Sendable (AdminRequest) -> Answer) {
        self.answers = answers
        self.files = files
    }

    var requests: [AdminRequest] { log.withLock { $0 } }

    /// Serves while `body` runs, which gets the data directory and the address.
    static func serving<Result: Sendable>(
        _ server: AdminServer, _ body: @escaping @Sendable (String, String) async throws -> Result
    ) async throws -> Result {
        let data = FileManager.default.temporaryDirectory.appending(path: "ctl-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: data) }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            let (ports, listening) = AsyncStream.makeStream(of: Int?.self)
            for address in [
                ListenAddress.unixSocket(path: data.path + "/admin.sock"), .tcp(host: "127.0.0.1", port: 0),
            ] {
                group.addTask {
                    let listener = HTTPListener(configuration(address), responder: server)
                    try await listener.run { listening.yield($0) }
                    return nil
                }
            }
            group.addTask {
                var port = 0
                var seen = 0
                for await one in ports {
                    port = one ?? port
                    seen += 1
                    if seen == 2 { break }
                }
                return try await body(data.path, "http://127.0.0.1:\(port)")
            }
            defer { group.cancelAll() }
            while let result = try await group.next() { if let result { return result } }
            throw CancellationError()
        }
    }

    private static func configuration(_ address: ListenAddress) -> ServerConfiguration {
        ServerConfiguration(
            address: address, certificate: nil, idle: .seconds(60), write: .seconds(60), writeRate: 1, readRate: 1,
            connections: 100, head: HeadLimits(fields: 100, bytes: 65_536), target: 16_384, chunk: 65_536,
            peers: PeerAddress(proxies: []))
    }

    func respond(to request: InboundRequest, on sink: ResponseSink) -> (any CancellableWork)? {
        let (method, target) = (request.method.rawValue, request.target)
        let type = request.fields[.contentType]
        if let file = files[target] {
            sink.send(Self.response(200, file))
            return nil
        }
        switch request.body {
        case .whole(let bytes): answer(method, target, type, bytes.map { Array($0.readableBytesView) } ?? [], on: sink)
        case .incoming(let body):
            let collected = sink.eventLoop.makePromise(of: [UInt8].self)
            collected.futureResult.whenSuccess { self.answer(method, target, type, $0, on: sink) }
            sink.eventLoop.execute { Self.collect(body, collected) }
        }
        return nil
    }

    private static func collect(_ body: IncomingBody, _ promise: EventLoopPromise<[UInt8]>) {
        promise.completeWithTask { try await body.collect(upTo: 64 << 20) }
    }

    private func answer(_ method: String, _ target: String, _ type: String?, _ bytes: [UInt8], on sink: ResponseSink) {
        let format = CBORFormat()
        let body: WireValue
        switch type {
        case nil: body = .null
        case format.mediaTypeWritten.description: body = (try? format.read(bytes)) ?? .data(bytes)
        default: body = .string(String(decoding: bytes, as: UTF8.self))
        }
        let request = AdminRequest(method, target, body, type: type)
        log.withLock { $0.append(request) }
        let (status, value) = answers(request)
        sink.send(Self.response(status, (try? format.write(value)) ?? []))
    }

    private static func response(_ status: Int, _ body: [UInt8]) -> OutboundResponse {
        OutboundResponse(
            HTTPResponse.Status(code: status), fields: [.contentLength: String(body.count)],
            body: ByteBuffer(bytes: body))
    }

    func refusal(_ error: PorticoError, peer: String) -> OutboundResponse { Self.response(400, []) }
    func overload(for path: String) -> PorticoError? { nil }

    func beginDiscarding(from peer: String) -> (@Sendable () -> Void)? { return {} }
    func isAlwaysAnswered(_ path: String) -> Bool { false }
}

/// The program itself, as an operator runs it.
struct Porticoctl: Sendable {
    var status: Int32
    var output: String
    var errors: String

    /// Null where the output is no JSON.
    var json: WireValue { (try? JSONFormat().read(Array(output.utf8))) ?? .null }

    init(_ arguments: [String], input: String = "") async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ctl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files, so that neither side waits for the other.
        let places = ["in", "out", "err"].map { folder.appending(path: $0) }
        try Data(input.utf8).write(to: places[0])
        for place in places.dropFirst() { try Data().write(to: place) }
        let process = Process()
        // The build puts it beside the tests.
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "porticoctl")
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: places[0])
        process.standardOutput = try FileHandle(forWritingTo: places[1])
        process.standardError = try FileHandle(forWritingTo: places[2])
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
        status = process.terminationStatus
        output = try String(contentsOf: places[1], encoding: .utf8)
        errors = try String(contentsOf: places[2], encoding: .utf8)
    }
}
