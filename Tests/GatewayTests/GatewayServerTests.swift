import AdapterKit
import Foundation
import HTTPServer
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Gateway

/// The gateway behind its listener: requests over a socket, streams as they come.
@Suite(.timeLimit(.minutes(5))) struct GatewayServerTests {
    private static let basic = "Basic " + Data("alice:\(NotesGateway.password)".utf8).base64EncodedString()

    private static func head(_ line: String, _ fields: [String] = [], close: Bool = true, user: Bool = true) -> String {
        ([line + " HTTP/1.1", "Host: portico.example"] + (user ? ["Authorization: \(basic)"] : [])
            + (close ? ["Connection: close"] : []) + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Serves while `body` runs, which gets connections. Returns the access log.
    @discardableResult
    private func serving(
        _ host: NotesGateway,
        _ body: @escaping @Sendable (_ connect: @Sendable () async throws -> SocketClient) async throws -> Void
    ) async throws -> [AccessRecord] {
        let path = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))").path
        var settings = ServerSettings(address: .unixSocket(path: path))
        let records = AccessRecords()
        settings.accessLog = { records.append($0) }
        // Of real time: a machine that stands still for a while makes no client slow.
        (settings.readRate, settings.writeRate) = (0, 0)
        let settled = settings
        return try await withThrowingTaskGroup(of: Void.self) { group in
            let (listening, begun) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                try await GatewayServer(gateway: host.gateway, settings: settled) { _ in begun.yield() }.run()
            }
            group.addTask { await host.liveFeeds.tasks[NotesAdapter.declaration.name]?() }
            group.addTask { await host.sync.run() }
            group.addTask {
                for await _ in listening { break }
                try await body { try await SocketClient(path: path) }
                throw Finished(records: records.all)
            }
            defer { group.cancelAll() }
            do {
                while try await group.next() != nil {}
            } catch let finished as Finished {
                return finished.records
            }
            return []
        }
    }

    /// Exchanges the gateways as a change of the configuration does, which waits for requests of the one before.
    private actor Exchange: ConfigurationControl {
        private var begin: (@Sendable () -> RequestsUnderWay)?
        private(set) var haveEnded = false
        private let (changes, change) = AsyncStream.makeStream(of: Void.self)

        func use(_ begin: @escaping @Sendable () -> RequestsUnderWay) { self.begin = begin }

        func settings() -> [ConfiguredSetting] { [] }

        func check() -> ConfigurationReport { ConfigurationReport() }

        func apply(by actor: Principal, from address: String) async throws -> ConfigurationReport {
            change.yield()
            guard let requests = begin?() else { return ConfigurationReport() }
            let deadline = ContinuousClock.now + .seconds(200)
            await requests.waitUntilEnded(by: deadline)
            haveEnded = .now < deadline
            return ConfigurationReport(isApplied: true)
        }

        func wait() async { for await _ in changes { break } }
    }

    @Test func `a request that exchanges the gateways is not waited for by itself, and others are`() async throws {
        let exchange = Exchange()
        let host = try await NotesGateway(configuration: exchange)
        let path = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))").path
        let settings = ServerSettings(address: .unixSocket(path: path))
        let (listening, begun) = AsyncStream.makeStream(of: Void.self)
        let server = GatewayServer(gateway: host.administration, settings: settings) { _ in begun.yield() }
        await exchange.use { server.replace(host.administration, settings) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            defer { group.cancelAll() }
            for await _ in listening { break }
            // Its body comes while the other one waits.
            let slow = try await SocketClient(path: path)
            try await slow.send(
                Self.head(
                    "POST /admin/v1/audit/entries",
                    ["Content-Type: application/json", "Transfer-Encoding: chunked", "Expect: 100-continue"],
                    user: false))
            #expect(await slow.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
            let applying = try await SocketClient(path: path)
            try await applying.send(
                Self.head(
                    "POST /admin/v1/configuration/apply", ["Content-Type: application/json", "Content-Length: 2"],
                    user: false) + "{}")
            await exchange.wait()
            #expect(await !exchange.haveEnded)
            try await slow.send("2\r\n{}\r\n0\r\n\r\n")
            #expect(await slow.receiveAll().hasPrefix("HTTP/1.1 200 "))
            let applied = await applying.receiveAll()
            #expect(applied.hasPrefix("HTTP/1.1 200 ") && applied.contains("\"applied\":true"), "\(applied)")
            #expect(await exchange.haveEnded)
        }
    }

    private struct Finished: Error {
        let records: [AccessRecord]
    }

    private final class AccessRecords: Sendable {
        private let records = Mutex<[AccessRecord]>([])
        var all: [AccessRecord] { records.withLock { $0 } }
        func append(_ record: AccessRecord) { records.withLock { $0.append(record) } }
    }

    @Test func `requests are answered, and each has its line in the access log`() async throws {
        let host = try await NotesGateway()
        let log = try await serving(host) { connect in
            let connection = try await connect()
            let body = #"{"title":"over the wire"}"#
            try await connection.send(
                Self.head(
                    "POST \(NotesGateway.notes)",
                    ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"], close: false) + body)
            let made = await connection.receive(until: "\"modified\"")
            #expect(made.hasPrefix("HTTP/1.1 201 ") && made.contains("over the wire"), "\(made)")
            #expect(made.contains("X-Content-Type-Options: nosniff") && made.contains("X-Request-ID: "))
            try await connection.send(Self.head("HEAD \(NotesGateway.notes)", close: false))
            let head = await connection.receive(until: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 200 ") && head.hasSuffix("\r\n\r\n"), "\(head)")
            try await connection.send(Self.head("OPTIONS *", close: false, user: false))
            let options = await connection.receive(until: "\r\n\r\n")
            #expect(options.hasPrefix("HTTP/1.1 204 ") && options.contains("Allow: GET, HEAD, POST"), "\(options)")
            try await connection.send(Self.head("GET /nothing", user: false))
            let missing = await connection.receiveAll()
            #expect(missing.hasPrefix("HTTP/1.1 404 ") && missing.contains("route.notFound"), "\(missing)")
        }
        let lines = log.map { "\($0.method) \($0.path) \($0.status)" }
        #expect(
            lines == [
                "POST \(NotesGateway.notes) 201", "HEAD \(NotesGateway.notes) 200", "OPTIONS * 204", "GET /nothing 404",
            ])
        #expect(Set(log.map(\.id)).count == 4)
        #expect(log.first?.caller == "alice" && log.first?.bytes ?? 0 > 0)
    }

    @Test func `a body that arrives in pieces is read, and one that is too long ends the connection`() async throws {
        let host = try await NotesGateway { $0.limits.body = 20_000 }
        try await serving(host) { connect in
            let slow = try await connect()
            let body = #"{"title":"\#(String(repeating: "x", count: 30))"}"#
            try await slow.send(
                Self.head(
                    "POST \(NotesGateway.notes)", ["Content-Type: application/json", "Transfer-Encoding: chunked"]))
            for piece in [body.prefix(9), body.dropFirst(9)] {
                try await slow.send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
            }
            try await slow.send("0\r\n\r\n")
            #expect(await slow.receiveAll().hasPrefix("HTTP/1.1 201 "))
            let long = try await connect()
            try await long.send(
                Self.head(
                    "POST \(NotesGateway.notes)", ["Content-Type: application/json", "Content-Length: 30000"],
                    close: false))
            let refused = await long.receiveAll()
            #expect(refused.hasPrefix("HTTP/1.1 413 ") && refused.contains("Connection: close"), "\(refused)")
        }
    }

    @Test func `what the listener refuses has the gateway's error`() async throws {
        let host = try await NotesGateway { $0.limits.uri = 100 }
        try await serving(host) { connect in
            for (request, status, code) in [
                ("GET / HTTP/1.1\r\n\r\n", 400, "request.malformed"),
                (Self.head("GET /%zz"), 400, "request.malformed"),
                (Self.head("GET /\(String(repeating: "a", count: 120))"), 414, "request."),
                (Self.head("BREW /double/1"), 501, ""),
            ] {
                let connection = try await connect()
                try await connection.send(request)
                let answer = await connection.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("\"code\":\"\(code)"), "\(answer)")
            }
        }
    }

    @Test func `a live pull tells what is there and what comes`() async throws {
        let host = try await NotesGateway()
        _ = try await host.note(["title": "there before"])
        try await serving(host) { connect in
            let stream = try await connect()
            try await stream.send(Self.head("GET /sync/v1/live?collections=notes", close: false))
            let first = await stream.receive(until: "there before")
            #expect(first.hasPrefix("HTTP/1.1 200 ") && first.contains("text/event-stream"), "\(first)")
            _ = try await host.note(["title": "not alice's"], as: "bob")
            _ = try await host.note(["title": "comes later"])
            let next = await stream.receive(until: "comes later")
            #expect(next.contains("id: ") && !next.contains("not alice's"), "\(next)")
            let poll = try await connect()
            try await poll.send(Self.head("GET /sync/v1/live?collections=notes&wait=30"))
            let page = await poll.receiveAll()
            #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("comes later"), "\(page)")
            let wrong = try await connect()
            try await wrong.send(Self.head("GET /sync/v1/live?limit=0"))
            #expect(await wrong.receiveAll().contains("\"target\":\"limit\""))
            let unknown = try await connect()
            try await unknown.send(Self.head("GET /sync/v1/live?format=nothing"))
            #expect(await unknown.receiveAll().hasPrefix("HTTP/1.1 406 "))
            let anonymous = try await connect()
            try await anonymous.send(Self.head("GET /sync/v1/live", user: false))
            #expect(await anonymous.receiveAll().hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func `a feed tells a room's members what happens in it, and goes on where it was left`() async throws {
        let host = try await NotesGateway()
        let api = "/api/v1/notes"
        @Sendable func put(_ path: String, _ fields: WireValue) async throws {
            let answer = try await host.send(.put, "\(api)/\(path)", fields)
            #expect(answer.status < 300, "\(answer)")
        }
        try await put("rooms/r1", ["name": "One", "members": ["alice", "bob"]])
        try await serving(host) { connect in
            let stream = try await connect()
            try await stream.send(Self.head("GET /rooms/live", close: false))
            // It tells what happens from here on.
            let greeting = await stream.receive(until: "event: ready")
            #expect(greeting.hasPrefix("HTTP/1.1 200 ") && greeting.contains("text/event-stream"), "\(greeting)")
            try await put("posts/p1", ["room": "r1", "text": "first post"])
            let post = await stream.receive(until: "first post")
            #expect(post.contains("event: post"), "\(post)")
            try await put("posts/p1", ["room": "r1", "text": "edited post"])
            #expect(await stream.receive(until: "edited post").contains("event: edit"))
            #expect(try await host.send(.delete, "\(api)/posts/p1").status == 204)
            #expect(await stream.receive(until: "event: removal").contains("event: removal"))
            let other = try await host.send(
                .put, "\(api)/rooms/r2", ["name": "Two", "members": ["bob"]], as: "bob")
            #expect(other.status < 300, "\(other)")
            try await put("rooms/r1", ["name": "Renamed", "members": ["alice"]])
            let renamed = await stream.receive(until: "Renamed")
            #expect(!renamed.contains("Two"), "\(renamed)")
        }
    }

    @Test func `what a mount says of its answer's length does not split the answer`() async throws {
        let host = try await NotesGateway()
        try await serving(host) { connect in
            let connection = try await connect()
            try await connection.send(Self.head("GET /files/framed", close: false))
            let framed = await connection.receive(until: "whole")
            #expect(framed.hasPrefix("HTTP/1.1 200 ") && framed.contains("Content-Length: 5\r\n"), "\(framed)")
            #expect(!framed.contains("Keep-Alive") && !framed.contains("Connection: close"), "\(framed)")
            try await connection.send(Self.head("GET /files/nothing", close: false))
            let nothing = await connection.receive(until: "\r\n\r\n")
            #expect(nothing.hasPrefix("HTTP/1.1 204 ") && nothing.hasSuffix("\r\n\r\n"), "\(nothing)")
            #expect(!nothing.contains("Content-Length"), "\(nothing)")
            #expect(!framed.contains("never") && framed.contains("Date: "), "\(framed)")
            try await connection.send(Self.head("GET /files/reset", close: false))
            let reset = await connection.receive(until: "\r\n\r\n")
            #expect(reset.hasPrefix("HTTP/1.1 205 ") && reset.contains("Content-Length: 0\r\n"), "\(reset)")
            try await connection.send(Self.head("GET /files/twice", close: false))
            let twice = await connection.receive(until: "}}")
            #expect(twice.hasPrefix("HTTP/1.1 500 "), "\(twice)")
            try await connection.send(Self.head("GET /nothing", user: false))
            let next = await connection.receiveAll()
            #expect(next.hasPrefix("HTTP/1.1 404 "), "\(next)")
        }
    }

    @Test func `a program's mount sets the fields that describe its answer, and no other`() async throws {
        let program = try await NotesGateway(adapter: ProcessNotes()).get("/files/origin")
        #expect(program.status == 200)
        #expect(!program.fields.contains { $0.value.contains("stolen") || $0.value.contains("evil") })
        let set = [
            "content-type": "text/plain", "content-language": "de", "link": "</files/next>; rel=next",
            "cache-control": "private", "location": "/files/other", "retry-after": "7", "etag": "W/\"1\"",
            "age": "2147483647", "x-adapter-left": "3",
            // Its page runs scripts, but not on this origin.
            "content-security-policy": "default-src 'self', sandbox allow-downloads allow-forms allow-scripts",
        ]
        for (name, value) in set {
            #expect(program.fields.filter { $0.name.canonicalName == name }.map(\.value) == [value], "\(name)")
        }
        // The rest is the gateway's.
        let own: Set = [
            "x-content-type-options", "content-length", "vary", "x-request-id", "ratelimit",
            "ratelimit-policy", "date", "connection", "server",
        ]
        let others = program.fields.map(\.name.canonicalName).filter { set[$0] == nil && !own.contains($0) }
        #expect(others == [], "\(program.fields)")
        let inProcess = try await NotesGateway().get("/files/origin")
        #expect(inProcess.status == 200, "\(inProcess)")
        #expect(inProcess.fields.count { $0.name.canonicalName == "set-cookie" } == 6)
    }

    @Test func `a value that a field cannot have is left out of what a program's mount answers`() async throws {
        let program = try await NotesGateway(adapter: ProcessNotes()).get("/files/broken")
        #expect(program.status == 200)
        let names = program.fields.map(\.name.canonicalName)
        #expect(names.contains("content-language"), "\(names)")
        #expect(Set(names).isDisjoint(with: ["etag", "age", "retry-after", "last-modified"]), "\(names)")
    }

    @Test func `an attachment is streamed, whole and in ranges`() async throws {
        let host = try await NotesGateway { $0.limits.chunk = 64 }
        let data = String(repeating: "0123456789", count: 20)
        let digest = AttachmentDigestText.of(Array(data.utf8))
        let path = "/sync/v1/attachments/\(digest)"
        #expect(try await host.send(.put, path, body: Array(data.utf8)).status == 201)
        _ = try await host.note(["attachments": [.string(digest)]])
        try await serving(host) { connect in
            for (fields, status, body) in [
                ([], "200 ", data), (["Range: bytes=3-12"], "206 ", "3456789012"),
                (["Range: bytes=-5"], "206 ", "56789"),
                (["Range: bytes=195-"], "206 ", "56789"), (["Range: bytes=200-"], "416 ", ""),
            ] {
                let connection = try await connect()
                try await connection.send(Self.head("GET \(path)", fields))
                let answer = await connection.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.hasSuffix("\r\n\r\n\(body)"), "\(answer)")
            }
        }
    }
}

/// A client's side of a connection, in bytes.
private final class SocketClient: Sendable {
    private let channel: any Channel
    private let pieces: AsyncStream<String>

    init(path: String) async throws {
        let (pieces, received) = AsyncStream.makeStream(of: String.self)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(Receiver(received)) }
            .connect(unixDomainSocketPath: path).get()
        self.pieces = pieces
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Everything up to this text, or up to the end.
    func receive(until end: String) async -> String {
        var all = ""
        for await piece in pieces {
            all += piece
            if all.contains(end) { break }
        }
        return all
    }

    /// What comes until the server closes.
    func receiveAll() async -> String {
        var all = ""
        for await piece in pieces { all += piece }
        return all
    }

    private final class Receiver: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let received: AsyncStream<String>.Continuation

        init(_ received: AsyncStream<String>.Continuation) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.yield(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { received.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
