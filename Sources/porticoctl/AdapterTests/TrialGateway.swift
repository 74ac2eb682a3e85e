import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ValueTree
import WireFormats

/// A gateway of its own: a process on a free port of loopback, with a data directory that is removed with it.
final class TrialGateway: Sendable {
    /// What a call came to; status 0: the gateway has not answered.
    struct Answer {
        var status: Int
        var type = ""
        var bytes: [UInt8] = []

        /// Nil: it is no document of a format that the gateway writes.
        var value: WireValue? {
            try? FormatCatalogue.standard.formats.first { $0.mediaTypeWritten.essence == type }?.read(bytes)
        }

        /// The error's code; nil: it is none of the registry's shape.
        var code: String? { value?["error"]?["code"]?.stringValue }

        var summary: String {
            status == 0 ? "no answer" : "\(status)" + (code.map { " \($0)" } ?? "")
        }
    }

    private static let startSeconds = 120.0
    private static let stopSeconds = 60.0
    private static let account = "adapter-test"

    let administration: GatewayConnection
    private let process: Process
    private let folder: URL
    private let client: HTTPClient
    private let address: String
    private let token: String

    /// Runs `body` with a gateway of this configuration, which has ended afterwards.
    static func run<Result>(
        _ configuration: String, settings: [String], roles: [String], _ body: (TrialGateway) async throws -> Result
    ) async throws -> Result {
        // Short, since the path of a socket is.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "portico-test-\(UUID().uuidString.prefix(8))", isDirectory: true)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try start(configuration, settings, folder)
        defer { end(process) }
        let address = try await address(process, folder)
        let administration = try GatewayConnection(.socket(folder.appendingPathComponent("data/admin.sock").path))
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
        let result: Swift.Result<Result, any Error>
        do {
            let token = try await signIn(administration, client, address, roles)
            let gateway = TrialGateway(process, folder, administration, client, address, token)
            result = .success(try await body(gateway))
        } catch {
            result = .failure(error)
        }
        try? await administration.close()
        try? await client.shutdown()
        return try result.get()
    }

    private init(
        _ process: Process, _ folder: URL, _ administration: GatewayConnection, _ client: HTTPClient, _ address: String,
        _ token: String
    ) {
        self.process = process
        self.folder = folder
        self.administration = administration
        self.client = client
        self.address = address
        self.token = token
    }

    var isRunning: Bool { process.isRunning }

    /// A call as the account of the trial.
    func send(
        _ method: String, _ path: String, _ body: WireValue? = nil, accept: String = "application/json"
    ) async -> Answer {
        var request = HTTPClientRequest(url: address + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "Accept", value: accept)
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        return await Self.send(request, body, client)
    }

    /// The last line of the log that has one of these texts.
    func log(with texts: [String]) -> String? {
        let text = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last { line in texts.contains { line.contains($0) } }.map(String.init)
    }

    private static func send(
        _ request: HTTPClientRequest, _ body: WireValue?, _ client: HTTPClient
    ) async -> Answer {
        var request = request
        do {
            if let body {
                request.headers.add(name: "Content-Type", value: "application/json")
                request.body = .bytes(ByteBuffer(bytes: try JSONFormat().write(body)))
            }
            let response = try await client.execute(request, timeout: .seconds(60))
            let bytes = try await response.body.collect(upTo: GatewayConnection.maximumAnswer)
            let type = response.headers.first(name: "Content-Type")?.prefix { $0 != ";" }
            return Answer(
                status: Int(response.status.code), type: type.map(String.init) ?? "", bytes: Array(buffer: bytes))
        } catch {
            return Answer(status: 0)
        }
    }

    private static func start(_ configuration: String, _ settings: [String], _ folder: URL) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Tool.portico)
        let all = ["http.host=127.0.0.1", "http.port=0"] + settings
        process.arguments =
            ["serve", "--config", configuration, "--data", folder.appendingPathComponent("data").path]
            + all.flatMap { ["--set", $0] }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try output("output", folder)
        process.standardError = try output("log", folder)
        do { try process.run() } catch {
            throw CommandError("\(Tool.portico) cannot be run: \(error.localizedDescription)")
        }
        return process
    }

    private static func output(_ name: String, _ folder: URL) throws -> FileHandle {
        let path = folder.appendingPathComponent(name).path
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw CommandError("\(path) cannot be written.") }
        return file
    }

    /// As the gateway names it once it serves.
    private static func address(_ process: Process, _ folder: URL) async throws -> String {
        let start = "listening on "
        let end = ContinuousClock.now + .seconds(startSeconds)
        while process.isRunning, ContinuousClock.now < end {
            let text = (try? String(contentsOf: folder.appendingPathComponent("output"), encoding: .utf8)) ?? ""
            // A line that is whole.
            if let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first(where: {
                $0.hasPrefix(start)
            }) {
                return String(line.dropFirst(start.count))
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let log = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        throw CommandError("The gateway does not serve: \(log.suffix(2_000))")
    }

    private static func signIn(
        _ administration: GatewayConnection, _ client: HTTPClient, _ address: String, _ roles: [String]
    ) async throws -> String {
        let password = UUID().uuidString
        try await administration.post(
            "/admin/v1/accounts",
            [
                "name": .string(account), "password": .string(password),
                "roles": .array(roles.map(WireValue.string)),
            ])
        var request = HTTPClientRequest(url: address + "/auth/login")
        request.method = .POST
        let answer = await send(
            request, ["username": .string(account), "password": .string(password)], client)
        guard let token = answer.value?["accessToken"]?.stringValue else {
            throw CommandError("The gateway does not sign an account in: \(answer.summary).")
        }
        return token
    }

    private static func end(_ process: Process) {
        process.terminate()
        let end = Date(timeIntervalSinceNow: stopSeconds)
        while process.isRunning, Date() < end { usleep(20_000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
