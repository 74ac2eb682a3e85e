import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ValueTree
import WireFormats

/// The admin socket of a running gateway.
struct Connection {
    /// Answers beyond it are not read.
    static let maximumAnswer = 64 << 20
    /// What an operator begins is done whether the answer is waited for or not, so it is waited for.
    private static let idleTimeout = TimeAmount.hours(24)

    /// CBOR, which carries every type of the value tree, so that a property list's dates and bytes arrive as such.
    private let format = CBORFormat()
    private let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
    private let socket: String

    init(data: String) {
        socket = URL(fileURLWithPath: data).appendingPathComponent("admin.sock").path
    }

    func close() async throws {
        try await client.shutdown()
    }

    func get(_ path: String) async throws -> WireValue {
        try await send(.GET, path, body: nil)
    }

    @discardableResult
    func post(_ path: String, _ value: WireValue? = nil) async throws -> WireValue {
        let body = try value.map { (bytes: try format.write($0), type: format.mediaTypeWritten.description) }
        return try await send(.POST, path, body: body)
    }

    @discardableResult
    func post(_ path: String, file bytes: [UInt8], type: String) async throws -> WireValue {
        try await send(.POST, path, body: (bytes, type))
    }

    private func send(_ method: HTTPMethod, _ path: String, body: (bytes: [UInt8], type: String)?) async throws
        -> WireValue
    {
        guard FileManager.default.fileExists(atPath: socket),
            let url = URL(httpURLWithSocketPath: socket, uri: path)
        else { throw Failure("No gateway runs here: \(socket) is not there. Name its data directory with --data.") }
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = method
        // The client writes none for a socket; HTTP/1.1 demands one.
        request.headers.add(name: "Host", value: "localhost")
        request.headers.add(name: "Accept", value: format.mediaTypeWritten.description)
        if let body {
            request.headers.add(name: "Content-Type", value: body.type)
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        return try await answer(to: request)
    }

    private func answer(to request: HTTPClientRequest) async throws -> WireValue {
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: Self.idleTimeout)
        } catch {
            throw Failure("The gateway does not answer at \(socket).", isUnanswered: true)
        }
        let bytes: [UInt8]
        do {
            bytes = Array(try await response.body.collect(upTo: Self.maximumAnswer).readableBytesView)
        } catch {
            throw Failure("The gateway's answer at \(socket) broke off.", isUnanswered: true)
        }
        let value = bytes.isEmpty ? WireValue.null : try format.read(bytes)
        guard response.status.code < 400 else { throw Self.failure(value, response.status.code) }
        return value
    }

    private static func failure(_ value: WireValue, _ status: UInt) -> Failure {
        let message = value["error"]?["message"]?.stringValue ?? "The gateway answered \(status)."
        let target = value["error"]?["target"]?.stringValue.map { " (\($0))" } ?? ""
        return Failure(message + target, exitStatus: status == 401 ? 4 : 1, isUnanswered: status == 504)
    }
}

extension String {
    /// As one segment of a path.
    var asPathSegment: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? ""
    }
}
