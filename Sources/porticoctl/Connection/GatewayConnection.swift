import ArgumentParser
import AsyncHTTPClient
import CommandLineSupport
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import ValueTree
import WireFormats

/// The admin socket of a running gateway, or its admin listener.
struct GatewayConnection {
    /// Answers beyond it are not read.
    static let maximumAnswer = 64 << 20
    /// What an operator begins is done whether the answer is waited for or not, so it is waited for.
    private static let idleTimeout = TimeAmount.hours(24)

    /// CBOR, which carries every type of the value tree, so that a property list's dates and bytes arrive as such.
    private let format = CBORFormat()
    private let client: HTTPClient
    private let address: GatewayAddress

    init(_ address: GatewayAddress) throws {
        self.address = address
        var configuration = HTTPClient.Configuration.prompt
        if case .listener(let listener) = address { configuration.tlsConfiguration = try listener.tls() }
        client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    func close() async throws {
        try await client.shutdown()
    }

    func get(_ path: String) async throws -> WireValue {
        try await send(.GET, path, body: nil)
    }

    /// A text, such as the metrics.
    func text(_ path: String) async throws -> String {
        var request = try address.request(path)
        request.headers.add(name: "Accept", value: "text/plain")
        let (status, bytes) = try await bytes(of: request)
        guard status < 400 else { throw Self.failure((try? JSONFormat().read(bytes)) ?? .null, status, path) }
        return String(decoding: bytes, as: UTF8.self)
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
        var request = try address.request(path)
        request.method = method
        request.headers.add(name: "Accept", value: format.mediaTypeWritten.description)
        if let body {
            request.headers.add(name: "Content-Type", value: body.type)
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        return try await response(to: request)
    }

    private func response(to request: HTTPClientRequest) async throws -> WireValue {
        let (status, bytes) = try await bytes(of: request)
        guard let value = bytes.isEmpty ? WireValue.null : try? format.read(bytes),
            !address.isOfAnother(value["error"]?["code"]?.stringValue)
        else { throw CommandError(address.strangersAnswer(status), isUnanswered: status >= 500) }
        guard status < 400 else { throw Self.failure(value, status, request.url) }
        return value
    }

    private func bytes(of request: HTTPClientRequest) async throws -> (status: UInt, bytes: [UInt8]) {
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: Self.idleTimeout)
        } catch {
            throw CommandError(address.explanation(of: error), isUnanswered: true)
        }
        do {
            let body = try await response.body.collect(upTo: Self.maximumAnswer)
            return (response.status.code, Array(body.readableBytesView))
        } catch {
            throw CommandError("The gateway's answer at \(address) broke off.", isUnanswered: true)
        }
    }

    /// The sentence about an adapter that a gateway does not serve; nil: the command is for no adapter.
    private static func absence(at address: String) -> String? {
        guard let found = address.firstMatch(of: /\/admin\/v1\/adapters\/([a-z0-9-]+)\/[^?]/) else { return nil }
        return
            "This gateway does not serve the adapter \(found.output.1). `adapters.\(found.output.1)` of its configuration serves it; `porticoctl adapters list` shows those that are served."
    }

    private static func failure(_ value: WireValue, _ status: UInt, _ address: String) -> CommandError {
        let isUnknown = value["error"]?["code"]?.stringValue == "route.notFound"
        let message =
            (isUnknown ? absence(at: address) : nil) ?? value["error"]?["message"]?.stringValue
            ?? "The gateway answered \(status)."
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

/// Where a running gateway is administered.
enum GatewayAddress: CustomStringConvertible {
    /// The path of the admin socket.
    case socket(String)
    case listener(AdminListener)

    var description: String {
        switch self {
        case .socket(let path): path
        case .listener(let listener): listener.url
        }
    }

    /// A request without method and body.
    func request(_ path: String) throws -> HTTPClientRequest {
        switch self {
        case .socket(let socket):
            guard access(socket, F_OK) == 0 || errno != EACCES else {
                throw CommandError("This user may not look into the data directory: \(socket) cannot be reached.")
            }
            guard FileManager.default.fileExists(atPath: socket),
                let url = URL(httpURLWithSocketPath: socket, uri: path)
            else {
                throw CommandError(
                    "No gateway runs here: \(socket) is not there. Name its data directory with --data.")
            }
            var request = HTTPClientRequest(url: url.absoluteString)
            // The client writes none for a socket; HTTP/1.1 demands one.
            request.headers.add(name: "Host", value: "localhost")
            return request
        case .listener(let listener):
            var request = HTTPClientRequest(url: listener.url + path)
            if let token = listener.token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
            return request
        }
    }
}

/// An admin listener (`admin.port`) and what is shown to it.
struct AdminListener {
    /// Without a slash at its end.
    let url: String
    /// Nil: a client certificate is the credential.
    let token: String?
    /// PEM files; nil: the system's authorities, and no certificate.
    let authorities: String?
    let certificate: (file: String, key: String)?

    func tls() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authorities {
            guard let known = try? NIOSSLCertificate.fromPEMFile(authorities), !known.isEmpty else {
                throw CommandError("\(authorities) (--authorities) holds no certificate (PEM).", exitStatus: 2)
            }
            configuration.trustRoots = .certificates(known)
        }
        guard let certificate else { return configuration }
        do {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate.file).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem))
        } catch {
            throw CommandError(
                "\(certificate.file) and \(certificate.key) cannot be read as a certificate and its key (PEM).",
                exitStatus: 2)
        }
        return configuration
    }
}

/// How results are shown.
struct OutputOptions: ParsableArguments {
    @Option(name: [.customShort("o"), .long], help: "text for people, json for programs.")
    var output: OutputStyle = .text
}

/// Where the gateway is, and how results are shown.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: """
            The gateway's data directory, whose admin socket is used. Left out: PORTICO_DATA, else \
            \(GatewayPlace.usualFolders.joined(separator: " or ")), which of them is there.
            """)
    var namedData: String?

    @Option(
        name: .customLong("url"),
        help: """
            The gateway's admin listener, such as https://gateway.example:9443, instead of the socket. Left out: PORTICO_URL, \
            if there is no --data.
            """)
    var namedURL: String?
    @Option(help: "A file with an admin token (admin tokens add).") var tokenFile: String?
    @Option(name: .customLong("authorities"), help: "Who vouches for the listener's certificate (PEM file).")
    var authorities: String?
    @Option(help: "A client certificate for the listener (PEM file).") var certificate: String?
    @Option(help: "Its private key (PEM file).") var key: String?

    @OptionGroup var shown: OutputOptions

    var output: OutputStyle { shown.output }

    var place: GatewayPlace {
        GatewayPlace(url: namedURL, data: namedData, environment: ProcessInfo.processInfo.environment)
    }

    /// Runs `body` with a connection that is closed afterwards.
    func withConnection<Result>(_ body: (GatewayConnection) async throws -> Result) async throws -> Result {
        let connection = try GatewayConnection(try address())
        do {
            let result = try await body(connection)
            try await connection.close()
            return result
        } catch {
            try? await connection.close()
            throw error
        }
    }

    /// Asks the gateway for a value and shows it.
    func show(
        _ path: String, columns: [String]? = nil, list: String? = nil, empty: String = Printer.nothing
    ) async throws {
        let value = try await withConnection { try await $0.get(path) }
        try Printer(style: output).show(value, columns: columns, list: list, empty: empty)
    }

    private func address() throws -> GatewayAddress {
        let url: String
        switch place {
        case .address(let address): url = address
        case .data(let data):
            guard tokenFile == nil, certificate == nil, authorities == nil, key == nil else {
                throw CommandError("--token-file and --certificate are for --url.", exitStatus: 2)
            }
            return .socket(URL(fileURLWithPath: data).appendingPathComponent("admin.sock").path)
        }
        guard let parts = URLComponents(string: url), ["https", "http"].contains(parts.scheme), parts.host != nil else {
            throw CommandError("\(url.visible) is no address such as https://gateway.example:9443.", exitStatus: 2)
        }
        guard (certificate == nil) == (key == nil) else {
            throw CommandError("--certificate and --key are needed together.", exitStatus: 2)
        }
        let listener = AdminListener(
            url: url.hasSuffix("/") ? String(url.dropLast()) : url, token: try tokenFile.map(Self.token),
            authorities: authorities, certificate: certificate.flatMap { file in key.map { (file, $0) } })
        guard listener.token == nil || parts.scheme == "https" || Self.isLoopback(parts.host ?? "") else {
            throw CommandError("A token is sent over https only.", exitStatus: 2)
        }
        return .listener(listener)
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
    }

    private static func token(_ path: String) throws -> String {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandError("\(path) (--token-file) cannot be read.", exitStatus: 2)
        }
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        let token = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandError("\(path) (--token-file) holds no token.", exitStatus: 2)
        }
        return token
    }
}

/// Asks before something is done that cannot be undone.
struct Confirmation: ParsableArguments {
    @Flag(help: "Does it without asking. Needed where there is no terminal to ask at.") var yes = false

    /// Throws where the answer is no, and where there is no terminal to ask at.
    func ask(_ question: String) throws {
        guard !yes else { return }
        guard Terminal.isThere else {
            throw CommandError("\(question) There is no terminal to ask at: --yes confirms it.", exitStatus: 2)
        }
        let answer = Terminal.ask("\(question.visible) [y/N] ")?.lowercased()
        guard ["y", "yes"].contains(answer ?? "") else { throw CommandError("Nothing was done.") }
    }
}

extension PasswordPrompt {
    /// As ``read(isNew:)``, with the status of wrong usage.
    static func password(isNew: Bool = false) throws -> String {
        do throws(Refusal) { return try read(isNew: isNew) } catch {
            throw CommandError(error.description, exitStatus: 2)
        }
    }
}
