import AdapterKit
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import HTTPServer

/// A connection of HTTP/2 as the listener sets it up behind TLS, and its client, with the bytes between them in memory.
private final class TestConnection {
    let channel = EmbeddedChannel()
    let client = EmbeddedChannel()
    let responder = ScriptedResponder()
    private(set) var frames: [HTTP2Frame] = []

    init() throws {
        try ServerContext.scripted(responder).addSecondVersion(channel, .regular)
        try client.pipeline.syncOperations.addHandler(NIOHTTP2Handler(mode: .client, initialSettings: []))
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        try channel.connect(to: address).wait()
        try client.connect(to: address).wait()
        try exchange()
    }

    /// Carries bytes both ways until nothing more is written. `size`: of the pieces that arrive at the server.
    func exchange(inPiecesOf size: Int = .max) throws {
        while true {
            var (up, down) = (try client.written(), try channel.written())
            guard up.readableBytes + down.readableBytes > 0 else { break }
            while let piece = up.readSlice(length: min(size, up.readableBytes)), piece.readableBytes > 0 {
                channel.pipeline.fireChannelRead(piece)
                channel.pipeline.fireChannelReadComplete()
            }
            if down.readableBytes > 0 {
                client.pipeline.fireChannelRead(down)
                down.clear()
                client.pipeline.fireChannelReadComplete()
            }
            channel.embeddedEventLoop.run()
        }
        while let frame = try client.readInbound(as: HTTP2Frame.self) { frames.append(frame) }
    }

    func write(_ payload: HTTP2Frame.FramePayload, on stream: Int) {
        client.write(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload), promise: nil)
        client.flush()
    }

    func ask(
        _ path: String, _ method: String = "GET", _ fields: [(String, String)] = [], on stream: Int, end: Bool = true
    ) {
        var headers = HPACKHeaders([
            (":method", method), (":scheme", "https"), (":authority", "a"), (":path", path),
        ])
        for (name, value) in fields { headers.add(name: name, value: value) }
        write(.headers(.init(headers: headers, endStream: end)), on: stream)
    }

    /// The status and the body of a stream's response; nil where it has not ended.
    func answer(on stream: Int) -> (status: String, body: String)? {
        var (status, body, hasEnded) = ("", ByteBuffer(), false)
        for frame in frames where frame.streamID == HTTP2StreamID(stream) {
            switch frame.payload {
            case .headers(let headers):
                status = headers.headers.first(name: ":status") ?? ""
                hasEnded = headers.endStream
            case .data(let data):
                if case .byteBuffer(var bytes) = data.data { body.writeBuffer(&bytes) }
                hasEnded = data.endStream
            default: continue
            }
        }
        return hasEnded ? (status, String(buffer: body)) : nil
    }

    func reset(on stream: Int) -> NIOHTTP2.HTTP2ErrorCode? {
        for case .rstStream(let code) in frames.filter({ $0.streamID == HTTP2StreamID(stream) }).map(\.payload) {
            return code
        }
        return nil
    }

    var goesAway: [HTTP2StreamID] {
        frames.compactMap { if case .goAway(let last, _, _) = $0.payload { last } else { nil } }
    }
}

@Suite struct HTTP2ConnectionTests {
    @Test(arguments: [1, 2, 3, 7, 9, 10, 64, 1_000])
    func `requests are answered alike however their bytes are split`(size: Int) throws {
        let connection = try TestConnection()
        connection.ask("/a", on: 1)
        connection.ask("/b", "POST", [("content-length", "5")], on: 3, end: false)
        connection.write(.data(.init(data: .byteBuffer(ByteBuffer(string: "hel")))), on: 3)
        connection.write(.data(.init(data: .byteBuffer(ByteBuffer(string: "lo")), endStream: true)), on: 3)
        connection.ask("/c", "POST", on: 5, end: false)
        connection.write(.data(.init(data: .byteBuffer(ByteBuffer(string: "x")))), on: 5)
        connection.write(.headers(.init(headers: ["trailer": "yes"], endStream: true)), on: 5)
        try connection.exchange(inPiecesOf: size)
        #expect(connection.answer(on: 1)?.body == "GET /a ")
        #expect(connection.answer(on: 3)?.body == "POST /b hello")
        #expect(connection.answer(on: 5)?.body == "POST /c x")
    }

    @Test func `a response does not wait for those before it`() throws {
        let connection = try TestConnection()
        connection.ask("/later", on: 1)
        connection.ask("/b", on: 3)
        try connection.exchange()
        #expect(connection.answer(on: 1) == nil)
        #expect(connection.answer(on: 3)?.body == "GET /b ")
        connection.responder.answerNext()
        try connection.exchange()
        #expect(connection.answer(on: 1)?.body == "GET /later late")
    }

    @Test func `what answers one read leaves as one write`() throws {
        let connection = try TestConnection()
        for stream in [1, 3, 5] { connection.ask("/a", on: stream) }
        connection.channel.pipeline.fireChannelRead(try connection.client.written())
        connection.channel.pipeline.fireChannelReadComplete()
        guard case .byteBuffer(let bytes)? = try connection.channel.readOutbound(as: IOData.self) else {
            Issue.record("nothing was written")
            return
        }
        #expect(try connection.channel.readOutbound(as: IOData.self) == nil)
        connection.client.pipeline.fireChannelRead(bytes)
        connection.client.pipeline.fireChannelReadComplete()
        try connection.exchange()
        #expect([1, 3, 5].map { connection.answer(on: $0)?.body } == ["GET /a ", "GET /a ", "GET /a "])
    }

    @Test func `a long body is read through its windows`() throws {
        let connection = try TestConnection()
        connection.ask("/a", "POST", on: 1, end: false)
        for _ in 0..<90 {
            connection.write(
                .data(.init(data: .byteBuffer(ByteBuffer(repeating: UInt8(ascii: "a"), count: 1_000)))), on: 1)
        }
        connection.write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), on: 1)
        try connection.exchange()
        #expect(connection.responder.answered == ["/a"])
        connection.write(.windowUpdate(windowSizeIncrement: 65_535), on: 0)
        connection.write(.windowUpdate(windowSizeIncrement: 65_535), on: 1)
        try connection.exchange()
        #expect(connection.answer(on: 1)?.body.utf8.count == "POST /a ".utf8.count + 90_000)
    }

    @Test func `a large response waits for the windows of its reader`() throws {
        let connection = try TestConnection()
        connection.ask("/large", on: 1)
        try connection.exchange()
        #expect(connection.answer(on: 1) == nil)
        connection.ask("/b", "HEAD", on: 3)
        try connection.exchange()
        for _ in 0..<5 {
            connection.write(.windowUpdate(windowSizeIncrement: 65_535), on: 0)
            connection.write(.windowUpdate(windowSizeIncrement: 65_535), on: 1)
            try connection.exchange()
        }
        #expect(connection.answer(on: 1)?.body == String(buffer: ScriptedResponder.large))
    }

    @Test func `a stream whose reader is slow but steady is not given up`() throws {
        let connection = try TestConnection()
        connection.ask("/large", on: 1)
        try connection.exchange()
        for _ in 0..<12 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(20))
            connection.write(.windowUpdate(windowSizeIncrement: 20_000), on: 0)
            connection.write(.windowUpdate(windowSizeIncrement: 20_000), on: 1)
            try connection.exchange()
        }
        #expect(connection.reset(on: 1) == nil)
        #expect(connection.answer(on: 1)?.body == String(buffer: ScriptedResponder.large))
    }

    @Test func `a stream whose reader takes nothing is given up and the others are not`() throws {
        let connection = try TestConnection()
        connection.ask("/large", on: 1)
        try connection.exchange()
        connection.ask("/later", on: 3)
        try connection.exchange()
        for _ in 0..<3 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(31))
            try connection.exchange()
        }
        #expect(connection.reset(on: 1) == .cancel)
        #expect(connection.reset(on: 3) == nil)
    }

    @Test func `a stream too many is refused and may be sent again`() throws {
        let connection = try TestConnection()
        for number in 0..<HTTP2ConnectionHandler.streams { connection.ask("/later", on: 2 * number + 1) }
        try connection.exchange()
        #expect(connection.responder.waiting.count == HTTP2ConnectionHandler.streams)
        connection.responder.answerNext()
        try connection.exchange()
        connection.ask("/b", on: 1_001)
        try connection.exchange()
        #expect(connection.answer(on: 1_001)?.body == "GET /b ")
    }

    @Test func `work for a stream that is reset, or whose connection has gone, is cancelled`() throws {
        let connection = try TestConnection()
        connection.ask("/later", on: 1)
        connection.ask("/later", on: 3)
        try connection.exchange()
        connection.write(.rstStream(.cancel), on: 1)
        try connection.exchange()
        #expect(connection.responder.waiting.map(\.work.isCancelled) == [true, false])
        connection.responder.answerNext()
        connection.channel.pipeline.fireChannelInactive()
        #expect(connection.responder.waiting.map(\.work.isCancelled) == [true])
    }

    @Test func `an early response ends its stream without an error`() throws {
        let connection = try TestConnection()
        connection.ask("/refused", "POST", on: 1, end: false)
        try connection.exchange()
        #expect(connection.answer(on: 1)?.body == "POST /refused no")
        #expect(connection.reset(on: 1) == .noError)
    }

    @Test func `a head beyond the limits is answered and the connection goes on`() throws {
        let connection = try TestConnection()
        connection.ask("/a", fields(30), on: 1)
        connection.ask("/a", [("x", String(repeating: "x", count: 1_100))], on: 3)
        connection.ask("/a", [("host", "b")], on: 5)
        connection.ask("*", on: 7)
        connection.ask("/b", on: 9)
        try connection.exchange()
        #expect(
            [1, 3].map { connection.answer(on: $0)?.body } == ["request.headersTooLarge", "request.headersTooLarge"])
        #expect([5, 7].map { connection.answer(on: $0)?.body } == ["request.malformed", "request.malformed"])
        #expect(connection.answer(on: 9)?.body == "GET /b ")
    }

    @Test func `a refusal of a HEAD request has no body`() throws {
        let connection = try TestConnection()
        connection.ask("/a", "HEAD", fields(30), on: 1)
        try connection.exchange()
        #expect(connection.answer(on: 1)?.status == "400")
        #expect(connection.answer(on: 1)?.body == "")
        connection.ask("/b", on: 3)
        try connection.exchange()
        #expect(connection.answer(on: 3)?.body == "GET /b ")
    }

    @Test func `a stop is announced, and the connection closes after its last response`() throws {
        let connection = try TestConnection()
        connection.ask("/later", on: 1)
        try connection.exchange()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        try connection.exchange()
        #expect(connection.goesAway == [.maxID, 1])
        #expect(connection.channel.isActive)
        connection.responder.answerNext()
        try connection.exchange()
        connection.channel.embeddedEventLoop.run()
        #expect(connection.answer(on: 1)?.body == "GET /later late")
        #expect(!connection.channel.isActive)
    }

    @Test func `a peer that has closed its side gets its responses`() throws {
        let connection = try TestConnection()
        connection.ask("/later", on: 1)
        try connection.exchange()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        connection.channel.embeddedEventLoop.run()
        #expect(connection.channel.isActive)
        connection.responder.answerNext()
        try connection.exchange()
        connection.channel.embeddedEventLoop.run()
        #expect(connection.answer(on: 1)?.body == "GET /later late")
        #expect(!connection.channel.isActive)
    }

    @Test func `of a peer that has closed its side, endless bodies end at once, work and silent bodies soon`() throws {
        let connection = try TestConnection()
        for (number, path) in ["/events", "/silent", "/later"].enumerated() { connection.ask(path, on: 2 * number + 1) }
        try connection.exchange()
        let streams = connection.responder.silent
        let loop = connection.channel.embeddedEventLoop
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        loop.run()
        #expect(streams.map(\.hasEnded) == [true, false])
        loop.advanceTime(by: .seconds(1))
        #expect(connection.responder.waiting.map(\.work.isCancelled) == [true])
        loop.advanceTime(by: .seconds(4))
        #expect(streams.map(\.hasEnded) == [true, true])
        connection.responder.answerNext()
        loop.run()
        #expect(!connection.channel.isActive)
    }

    @Test func `a silent body ends at once with its stream and with its connection`() throws {
        let connection = try TestConnection()
        connection.ask("/silent", on: 1)
        connection.ask("/silent", on: 3)
        try connection.exchange()
        connection.write(.rstStream(.cancel), on: 1)
        try connection.exchange()
        #expect(connection.responder.silent.map(\.hasEnded) == [true, false])
        connection.channel.pipeline.fireChannelInactive()
        #expect(connection.responder.silent.map(\.hasEnded) == [true, true])
    }

    @Test func `a connection without requests is closed, whatever else its peer sends`() throws {
        let connection = try TestConnection()
        for _ in 0..<3 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(31))
            guard connection.channel.isActive else { break }
            connection.write(.ping(HTTP2PingData(withInteger: 1), ack: false), on: 0)
            try connection.exchange()
        }
        #expect(!connection.channel.isActive)
    }

    private func fields(_ count: Int) -> [(String, String)] { (0..<count).map { ("x\($0)", "y") } }
}

extension TestConnection {
    fileprivate func ask(_ path: String, _ fields: [(String, String)], on stream: Int) {
        ask(path, "GET", fields, on: stream)
    }
}
