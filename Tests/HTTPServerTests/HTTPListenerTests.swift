import AdapterKit
import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceLifecycleTestKit
import SwiftASN1
import Testing
import X509

@testable import HTTPServer

/// The server over sockets, as clients meet it.
@Suite(.timeLimit(.minutes(5))) struct HTTPListenerTests {
    private let responder = NetworkResponder()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "http-\(UUID().uuidString.prefix(8))")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private static let request = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    @Test func `requests are answered at the port that the system chose`() async throws {
        try await responder.serving { port, _ in
            #expect(port ?? 0 > 0)
            let connection = try await ClientConnection.to(port)
            try await connection.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
            #expect(await connection.receive(until: "body").hasSuffix("POST /b 127.0.0.1 http body"))
            try await connection.send(Self.request)
            #expect(await connection.receiveAll().hasSuffix("GET /a 127.0.0.1 http "))
        }
    }

    @Test func `a socket in the file system takes the place of one that was left behind`() async throws {
        let path = folder.path + "/s"
        #expect(try leaveSocket(at: path))
        try await responder.serving(.unixSocket(path: path)) { port, _ in
            #expect(port == nil)
            let connection = try await ClientConnection(.unixSocket(path: path))
            try await connection.send(Self.request)
            #expect(await connection.receiveAll().hasSuffix("GET /a local http "))
        }
    }

    @Test func `a socket that listens already is served, and stays with its owner`() async throws {
        let socket = try ListeningSocket.open(host: "127.0.0.1", port: 0)
        defer { socket.release() }
        for _ in 1...2 {
            try await NetworkResponder().serving(.socket(socket)) { port, _ in
                let connection = try await ClientConnection.to(port)
                try await connection.send(Self.request)
                #expect(await connection.receiveAll().hasSuffix("GET /a 127.0.0.1 http "))
            }
        }
    }

    @Test func `an address that cannot be listened at is said in words`() async throws {
        try await responder.serving { port, _ in
            let failure = #expect(throws: ListeningFailure.self) {
                try ListeningSocket.open(host: "127.0.0.1", port: port ?? 0)
            }
            #expect(
                failure?.description == "127.0.0.1:\(port ?? 0) cannot be listened at: another program does already.")
        }
        // Of a block for documentation: no machine has it.
        let failure = #expect(throws: ListeningFailure.self) { try ListeningSocket.open(host: "192.0.2.1", port: 0) }
        #expect(failure?.description == "192.0.2.1:0 cannot be listened at: this machine has no such address.")
        #expect(throws: (any Error).self) { try ListeningSocket.open(host: "no host", port: 0) }
        let path = folder.path + "/nowhere/s"
        await #expect(throws: (any Error).self) {
            try await NetworkResponder().serving(.unixSocket(path: path)) { _, _ in }
        }
    }

    @Test func `nothing is inherited that another process was meant to get`() {
        let own = String(ProcessInfo.processInfo.processIdentifier)
        for environment in [
            [:], ["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_PID": own], ["LISTEN_PID": own, "LISTEN_FDS": "0"],
            ["LISTEN_PID": own, "LISTEN_FDS": "x"],
        ] { #expect(ListeningSocket.inheritedSocket(environment: environment) == nil) }
    }

    @Test func `a stop ends quiet connections, and lets a request that is under way end`() async throws {
        let responder = responder
        try await responder.serving { port, trigger in
            let (busy, quiet) = (try await ClientConnection.to(port), try await ClientConnection.to(port))
            try await quiet.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await quiet.receive(until: "http ").hasSuffix("GET /b 127.0.0.1 http "))
            try await busy.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
            await responder.arrival()
            trigger.triggerGracefulShutdown()
            #expect(await quiet.receiveAll() == "")
            responder.release()
            let answer = await busy.receiveAll()
            #expect(answer.hasSuffix("released") && answer.contains("Connection: close"))
        }
    }

    @Test func `a cancellation ends connections whose requests are not answered`() async throws {
        let responder = responder
        let (closed, closing) = AsyncStream.makeStream(of: String.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await responder.serving { port, _ in
                    let connection = try await ClientConnection.to(port)
                    try await connection.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
                    await responder.arrival()
                    closing.yield("arrived")
                    closing.yield(await Task { await connection.receiveAll() }.value)
                }
            }
            var words: [String] = []
            for await word in closed {
                words.append(word)
                if words.count == 1 { group.cancelAll() } else { break }
            }
            #expect(words == ["arrived", ""])
        }
    }

    @Test func `beyond the limit connections are refused, but for health, and far beyond it closed`() async throws {
        try await responder.serving(connections: 1) { port, _ in
            let first = try await ClientConnection.to(port)
            try await first.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await first.receive(until: "http ")
            let second = try await ClientConnection.to(port)
            try await second.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
            let refused = await second.receiveAll()
            #expect(
                refused.hasPrefix("HTTP/1.1 503 ") && refused.hasSuffix("server.overloaded 127.0.0.1"), "\(refused)")
            let third = try await ClientConnection.to(port)
            try await third.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await third.receive(until: "http ").hasSuffix("GET /health 127.0.0.1 http "))
        }
    }

    @Test func `permits are given up to the limit, then for one refusal, then no more, and come back`() throws {
        let permits = ConnectionPermits(Self.limits(2))
        var taken: [String] = []
        var channels: [EmbeddedConnection] = []
        for _ in 0..<(2 + ConnectionPermits.reserve + 1) {
            let channel = EmbeddedConnection()
            channels.append(channel)
            taken.append(channel.permit(of: permits))
        }
        #expect(
            taken == ["regular", "regular"] + Array(repeating: "rejected", count: ConnectionPermits.reserve) + ["none"])
        for channel in channels { try channel.end() }
        #expect(EmbeddedConnection().permit(of: permits) == "regular")
    }

    private static func limits(_ connections: Int, ofOneAddress share: Int = 0) -> ServerConfiguration {
        var configuration = ServerConfiguration(
            address: .tcp(host: "127.0.0.1", port: 0), certificate: nil, idle: .seconds(1), write: .seconds(1),
            writeRate: 1, readRate: 1, connections: connections, head: HeadLimits(fields: 20, bytes: 4_000),
            target: 500,
            chunk: 1_000, peers: PeerAddress(proxies: []))
        configuration.connectionsPerAddress = share
        return configuration
    }

    @Test func `one address takes half of all connections, with its refusals three quarters, and others the rest`()
        throws
    {
        let permits = ConnectionPermits(Self.limits(100))
        var channels: [EmbeddedConnection] = []
        func taken(_ count: Int, as client: String?) -> [String: Int] {
            (0..<count).reduce(into: [:]) { counts, _ in
                channels.append(EmbeddedConnection())
                counts[channels[channels.endIndex - 1].permit(of: permits, as: client), default: 0] += 1
            }
        }
        #expect(taken(75, as: "192.0.2.1") == ["regular": 50, "rejected": 25])
        #expect(taken(20, as: "192.0.2.2") == ["regular": 20])
        // A trusted proxy brings many clients.
        #expect(taken(5, as: nil) == ["regular": 5])
        #expect(taken(1, as: "192.0.2.2") == ["rejected": 1])
        for channel in channels { try channel.end() }
        #expect(permits.count == 0)
        permits.change(Self.limits(100, ofOneAddress: 3))
        #expect(taken(4, as: "192.0.2.1") == ["regular": 3, "rejected": 1])
    }

    @Test func `under load, a connection's last request is refused unread, and one that stays is served`() async throws
    {
        responder.shedLoad()
        try await responder.serving { port, _ in
            let last = try await ClientConnection.to(port)
            try await last.send(Self.request)
            let refused = await last.receiveAll()
            #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("Connection: close"), "\(refused)")
            let staying = try await ClientConnection.to(port)
            try await staying.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await staying.receive(until: "http ").hasSuffix("GET /b 127.0.0.1 http "))
        }
    }

    @Test func `a streamed body comes piece by piece, and one that breaks off is not taken for whole`() async throws {
        try await responder.serving { port, _ in
            let whole = try await ClientConnection.to(port)
            try await whole.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await whole.receive(until: "0\r\n\r\n").hasSuffix("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
            let broken = try await ClientConnection.to(port)
            try await broken.send("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n")
            let part = await broken.receiveAll()
            #expect(!part.contains("0\r\n\r\n"), "\(part)")
        }
    }

    @Test func `a connection that says nothing is closed`() async throws {
        try await responder.serving(idle: .milliseconds(50)) { port, _ in
            let connection = try await ClientConnection.to(port)
            #expect(await connection.receiveAll() == "")
        }
        let certificate = try ServerCertificate(Self.files(in: folder))
        try await NetworkResponder().serving(certificate: certificate, idle: .milliseconds(50)) { port, _ in
            let connection = try await ClientConnection.to(port)
            #expect(await connection.receiveAll() == "")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a silent body ends soon after a peer has closed its side`() async throws {
        try await responder.serving(halfClosed: .seconds(1)) { [responder] port, _ in
            let gone = try await ClientConnection.to(port)
            try await gone.send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await gone.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK"))
            try await gone.closeOutput()
            await responder.abandonment()
            #expect(await gone.receiveAll() == "")
        }
    }

    /// Letting go of the body resets the stream of HTTP/2. It closes a connection of HTTP/1, whose end TLS 1.3 tells as the end of
    /// one side.
    @Test(.timeLimit(.minutes(5)), arguments: [1, 2])
    func `over TLS a silent body ends at once with its stream, and soon with its connection`(major: Int) async throws {
        let certificate = try ServerCertificate(Self.files(in: folder))
        let halfClosed = Duration.seconds(major == 1 ? 1 : 600)
        try await responder.serving(certificate: certificate, halfClosed: halfClosed) { [responder] port, _ in
            let client = Self.client(major == 1 ? .http1Only : .automatic)
            let reading = Task {
                let answer = try await client.execute(
                    HTTPClientRequest(url: "https://127.0.0.1:\(port ?? 0)/silent"), timeout: .seconds(60))
                for try await _ in answer.body {}
            }
            try await Task.sleep(for: .milliseconds(500))
            reading.cancel()
            await responder.abandonment()
            try await client.shutdown()
        }
    }

    // MARK: TLS

    private static func files(in folder: URL, _ name: String = "a") throws -> ServerCertificate.Files {
        let secret = P256.Signing.PrivateKey()
        let signer = Certificate.PrivateKey(secret)
        let subject = try DistinguishedName { CommonName("localhost") }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: signer.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -3_600), notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {}, issuerPrivateKey: signer)
        let files = ServerCertificate.Files(
            certificate: folder.path + "/\(name).pem", key: folder.path + "/\(name).key")
        try Data(certificate.serializeAsPEM().pemString.utf8).write(to: URL(filePath: files.certificate))
        try Data(secret.pemRepresentation.utf8).write(to: URL(filePath: files.key))
        return files
    }

    private static func client(_ version: HTTPClient.Configuration.HTTPVersion) -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.httpVersion = version
        return HTTPClient(configuration: configuration)
    }

    @Test func `over TLS both versions of HTTP are served`() async throws {
        let certificate = try ServerCertificate(Self.files(in: folder))
        try await responder.serving(certificate: certificate) { port, _ in
            for (version, major) in [(HTTPClient.Configuration.HTTPVersion.http1Only, 1), (.automatic, 2)] {
                let client = Self.client(version)
                do {
                    var request = HTTPClientRequest(url: "https://127.0.0.1:\(port ?? 0)/c")
                    request.method = .POST
                    request.body = .bytes(ByteBuffer(string: "body"))
                    let answer = try await client.execute(request, timeout: .seconds(60))
                    #expect(answer.version.major == major)
                    let text = String(buffer: try await answer.body.collect(upTo: 1_000))
                    #expect(text == "POST /c 127.0.0.1 https body")
                    let stream = try await client.execute(
                        HTTPClientRequest(url: "https://127.0.0.1:\(port ?? 0)/stream"), timeout: .seconds(60))
                    #expect(String(buffer: try await stream.body.collect(upTo: 1_000)) == "onetwo")
                } catch {
                    Issue.record(error)
                }
                try await client.shutdown()
            }
        }
    }

    @Test(arguments: ["GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
    func `a request in plain HTTP at a port that speaks TLS is answered, and the next one is served`(
        request: String
    ) async throws {
        let certificate = try ServerCertificate(Self.files(in: folder))
        try await responder.serving(certificate: certificate) { port, _ in
            let connection = try await ClientConnection.to(port)
            try await connection.send(request)
            let answer = await connection.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 "), "\(answer)")
            #expect(answer.hasSuffix("request.refused 127.0.0.1"), "\(answer)")
            let client = Self.client(.http1Only)
            let served = try await client.execute(
                HTTPClientRequest(url: "https://127.0.0.1:\(port ?? 0)/c"), timeout: .seconds(60))
            #expect(served.status == .ok)
            try await client.shutdown()
        }
    }

    @Test func `an address is checked without listening there`() async throws {
        try ListeningSocket.check(host: "127.0.0.1", port: 0)
        try await responder.serving { port, _ in
            let failure = #expect(throws: ListeningFailure.self) {
                try ListeningSocket.check(host: "127.0.0.1", port: port ?? 0)
            }
            #expect(failure?.isTaken == true)
        }
    }

    @Test func `a caller without a certificate of the authorities is not served`() async throws {
        var files = try Self.files(in: folder)
        files.clientAuthorities = try Self.files(in: folder, "authority").certificate
        #expect(files.all.count == 3)
        try await responder.serving(certificate: try ServerCertificate(files)) { port, _ in
            let client = Self.client(.http1Only)
            await #expect(throws: (any Error).self) {
                _ = try await client.execute(
                    HTTPClientRequest(url: "https://127.0.0.1:\(port ?? 0)/c"), timeout: .seconds(60))
            }
            try await client.shutdown()
        }
    }

    @Test func `a certificate is replaced while it is served, and kept where its replacement is unusable`() throws {
        let files = try Self.files(in: folder)
        let certificate = try ServerCertificate(files)
        let first = certificate.current.context
        try certificate.reload()
        #expect(certificate.current.context !== first)
        let second = certificate.current.context
        let other = try Self.files(in: folder, "b")
        try Data(contentsOf: URL(filePath: other.key)).write(to: URL(filePath: files.key))
        let error = #expect(throws: ServerCertificate.Unusable.self) { try certificate.reload() }
        #expect(error?.description.contains("is the key the certificate's?") == true)
        #expect(certificate.current.context === second)
    }

    @Test func `files that are no certificate or no key are named`() throws {
        let files = try Self.files(in: folder)
        for (path, words) in [
            (files.certificate, "holds no certificate"), (files.key, "holds no private key"),
        ] {
            let bytes = try Data(contentsOf: URL(filePath: path))
            try Data("nothing".utf8).write(to: URL(filePath: path))
            let wrong = #expect(throws: ServerCertificate.Unusable.self) { _ = try ServerCertificate(files) }
            #expect(wrong?.description.hasPrefix("\(path) \(words)") == true)
            try FileManager.default.removeItem(atPath: path)
            let missing = #expect(throws: ServerCertificate.Unusable.self) { _ = try ServerCertificate(files) }
            #expect(missing?.description.hasPrefix("\(path) cannot be read: ") == true)
            try bytes.write(to: URL(filePath: path))
        }
    }
}
