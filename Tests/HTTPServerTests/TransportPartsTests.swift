import AdapterKit
import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServer

/// A channel that takes a permit.
final class EmbeddedConnection {
    private let channel = EmbeddedChannel()

    func permit(of permits: ConnectionPermits, as client: String? = nil) -> String {
        switch permits.take(for: channel, of: client) {
        case .regular: "regular"
        case .rejected: "rejected"
        case .none: "none"
        }
    }

    func end() throws { _ = try channel.finish() }
}

/// A socket's file that no process listens at any more.
func leaveSocket(at path: String) throws -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    let address = try SocketAddress(unixDomainSocketPath: path)
    return address.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0
}

@Suite struct TransportPartsTests {
    private func path(_ text: String) -> String? { Array(text.utf8).withUnsafeBytes(RequestHeadPeek.init)?.path }

    @Test(arguments: [
        "GET /a?b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET /a?b HTTP/1.0\r\n\r\n",
        "POST /a?b HTTP/1.1\r\nCONNECTION:\t CLOSE \t\r\nHost: a\r\n\r\nbody",
    ])
    func `the path of a connection's last request is seen unparsed`(head: String) {
        #expect(path(head) == "/a?b")
    }

    @Test(arguments: [
        "", "GET /a HTTP/1.1\r\nConnection: close\r\n", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /a HTTP/1.1\nConnection: close\n\n", "GET  /a HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET a HTTP/1.1\r\nConnection: close\r\n\r\n", "GET /a HTTP/2.0\r\nConnection: close\r\n\r\n",
        "GET /a\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.1 x\r\nConnection: close\r\n\r\n",
        "GET /a HTTP/1.1\r\nConnections: close\r\n\r\n", "GET /a HTTP/1.1\r\nxonnection: close\r\n\r\n",
    ])
    func `a head that is not whole, odd, or whose connection stays is left to the parser`(head: String) {
        #expect(path(head) == nil)
    }

    @Test func `a peer is too slow where less than the least left in a span that began with something waiting`() {
        var progress = WriteProgress()
        progress.wrote(1_000)
        // The first span began with nothing waiting.
        #expect(progress.look(waiting: 1_000, atLeast: 10) == .goesOn)
        #expect(progress.look(waiting: 990, atLeast: 10) == .goesOn)
        progress.wrote(500)
        #expect(progress.look(waiting: 1_480, atLeast: 10) == .goesOn)
        #expect(progress.look(waiting: 1_471, atLeast: 10) == .tooSlow)
        #expect(progress.look(waiting: 0, atLeast: 10) == .idle)
        progress.wrote(5)
        #expect(progress.look(waiting: 5, atLeast: 10) == .goesOn)
    }

    @Test func `the date is that of the second, as mail writes it`() throws {
        let header = DateHeader()
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        // The second may change between the three.
        let before = formatter.string(from: Date())
        let text = header.text()
        let after = formatter.string(from: Date())
        #expect(text == before || text == after)
        #expect(header.line().hasPrefix("Date: ") && header.line().hasSuffix(" GMT\r\n"))
    }

    @Test func `a quiet peer is given up after the time, one that is not its turn never`() {
        let loop = EmbeddedEventLoop()
        let timeout = IdleTimeout(idle: .seconds(10), since: loop.now)
        var (isPeersTurn, given) = (true, 0)
        timeout.start(on: loop) {
            isPeersTurn
        } giveUp: {
            given += 1
        }
        loop.advanceTime(by: .seconds(9))
        timeout.noteActivity(at: loop.now)
        loop.advanceTime(by: .seconds(9))
        #expect(given == 0)
        isPeersTurn = false
        loop.advanceTime(by: .seconds(100))
        #expect(given == 0)
        isPeersTurn = true
        loop.advanceTime(by: .seconds(10))
        #expect(given == 1)
        let stopped = IdleTimeout(idle: .seconds(10), since: loop.now)
        stopped.start(on: loop) {
            true
        } giveUp: {
            given += 1
        }
        stopped.stop()
        loop.advanceTime(by: .seconds(100))
        #expect(given == 1)
    }

    private func head(_ fields: [(String, String)]) throws(PorticoError) -> RequestHead {
        try RequestHead(
            HTTPRequestHead(version: .http1_1, method: .POST, uri: "/a", headers: HTTPHeaders([("Host", "a")] + fields))
        )
    }

    @Test(arguments: [
        ("gzip, chunked", ErrorCode.transferCodingUnknown), ("gzip,deflate,chunked", .transferCodingUnknown),
        ("chunked, chunked", .requestMalformed), ("chunked, gzip", .requestMalformed), ("gzip", .requestMalformed),
        (", chunked", .requestMalformed), ("", .requestMalformed),
    ])
    func `codings that end in chunks are not known, all others cannot be framed`(coding: String, code: ErrorCode) {
        let error = #expect(throws: PorticoError.self) { try head([("Transfer-Encoding", coding)]) }
        #expect(error?.code == code)
    }

    @Test func `the host is no field of the request, however it is spelt`() throws {
        let request = try RequestHead(
            HTTPRequestHead(
                version: .http1_1, method: .GET, uri: "/a", headers: ["hOsT": "a:1", "Hos": "x", "X-A": "b"]))
        #expect(request.host == "a:1")
        #expect(request.fields.map(\.name.canonicalName).sorted() == ["hos", "x-a"])
    }
}

/// When a connection of HTTP/1.1 ends by itself.
@Suite struct ConnectionEndTests {
    private let channel = EmbeddedChannel()
    private let responder = ScriptedResponder()

    init() throws {
        try ServerContext.scripted(responder).setUp(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func send(_ text: String) {
        channel.pipeline.fireChannelRead(ByteBuffer(string: text))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
    }

    private func written() throws -> String {
        channel.embeddedEventLoop.run()
        return String(buffer: try channel.written())
    }

    @Test func `a response is waited for longer than a quiet peer`() throws {
        send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(channel.isActive)
        responder.answerNext()
        #expect(try written().hasSuffix("GET /later late"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(!channel.isActive)
    }

    @Test func `a connection that is to end soon ends, whatever is under way`() {
        send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        channel.triggerUserOutboundEvent(ConnectionEndsSoon(), promise: nil)
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: LingeringCloseHandler.lingering)
        #expect(!channel.isActive)
    }

    @Test func `a stop looks twice whether something was asked, and then ends the connection`() throws {
        send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try written().hasSuffix("GET /a "))
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.embeddedEventLoop.advanceTime(by: StopGrace.first)
        send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        let last = try written()
        #expect(last.contains("Connection: close") && last.hasSuffix("GET /b "))
        channel.embeddedEventLoop.advanceTime(by: LingeringCloseHandler.lingering)
        #expect(!channel.isActive)
        let quiet = try ConnectionEndTests()
        quiet.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        quiet.channel.embeddedEventLoop.advanceTime(by: StopGrace.first)
        quiet.channel.embeddedEventLoop.advanceTime(by: StopGrace.next)
        quiet.channel.embeddedEventLoop.advanceTime(by: LingeringCloseHandler.lingering)
        #expect(!quiet.channel.isActive)
    }
}

@Suite struct BodyDeadlineTests {
    @Test func `a body that has not come in time is not waited for any longer`() throws {
        let loop = EmbeddedEventLoop()
        let body = IncomingBody(announced: nil, pace: UploadRate(rate: 1), on: loop) {}
        let promise = loop.makePromise(of: [UInt8].self)
        body.collect(upTo: 100, within: .seconds(10), into: promise)
        body.append(ByteBuffer(string: "a"))
        loop.advanceTime(by: .seconds(9))
        #expect(body.isBeingRead)
        loop.advanceTime(by: .seconds(2))
        #expect(!body.isBeingRead)
        let error = #expect(throws: PorticoError.self) { try promise.futureResult.wait() }
        #expect(error?.code == .requestTimeout)
    }

    @Test func `a body that came in time is not affected by the deadline`() throws {
        let loop = EmbeddedEventLoop()
        let body = IncomingBody(announced: nil, pace: UploadRate(rate: 1), on: loop) {}
        let promise = loop.makePromise(of: [UInt8].self)
        body.collect(upTo: 100, within: .seconds(10), into: promise)
        body.append(ByteBuffer(string: "a"))
        body.end()
        loop.advanceTime(by: .seconds(20))
        #expect(try promise.futureResult.wait() == Array("a".utf8))
    }
}
