import ArgumentParser
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
        else {
            throw CommandError("No gateway runs here: \(socket) is not there. Name its data directory with --data.")
        }
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
            throw CommandError("The gateway does not answer at \(socket).", isUnanswered: true)
        }
        let bytes: [UInt8]
        do {
            bytes = Array(try await response.body.collect(upTo: Self.maximumAnswer).readableBytesView)
        } catch {
            throw CommandError("The gateway's answer at \(socket) broke off.", isUnanswered: true)
        }
        let value = bytes.isEmpty ? WireValue.null : try format.read(bytes)
        guard response.status.code < 400 else { throw Self.failure(value, response.status.code) }
        return value
    }

    private static func failure(_ value: WireValue, _ status: UInt) -> CommandError {
        let message = value["error"]?["message"]?.stringValue ?? "The gateway answered \(status)."
        let target = value["error"]?["target"]?.stringValue.map { " (\($0))" } ?? ""
        return CommandError(message + target, exitStatus: status == 401 ? 4 : 1, isUnanswered: status == 504)
    }
}

extension String {
    /// As one segment of a path.
    var asPathSegment: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? ""
    }
}

/// Where the gateway is, and how results are shown.
struct ConnectionOptions: ParsableArguments {
    @Option(name: .customLong("data"), help: "The gateway's data directory; its admin socket is used.")
    var data: String = ".portico"

    @Option(help: "text for people, json for programs.")
    var output: OutputStyle = .text

    /// Runs `body` with a connection that is closed afterwards.
    func withConnection<Result>(_ body: (Connection) async throws -> Result) async throws -> Result {
        let connection = Connection(data: data)
        do {
            let result = try await body(connection)
            try await connection.close()
            return result
        } catch {
            try? await connection.close()
            throw error
        }
    }
}

/// Reads a password: without echo from a terminal, otherwise the first line of standard input. Never from an argument,
/// which every process on the machine can read.
enum PasswordPrompt {
    static func read() throws -> String {
        let password = isatty(FileHandle.standardInput.fileDescriptor) == 1 ? fromTerminal() : readLine()
        guard let password, !password.isEmpty else {
            throw CommandError("There is no password on standard input.", exitStatus: 2)
        }
        return password
    }

    private static func fromTerminal() -> String? {
        FileHandle.standardError.write(Data("Password: ".utf8))
        defer { FileHandle.standardError.write(Data("\n".utf8)) }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        return readLine()
    }
}
