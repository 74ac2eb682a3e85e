import AdapterKit
import HTTPTypes
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import HTTPServer

/// A connection of HTTP/1.1 as the listener sets it up, with its bytes in memory.
private struct TestConnection {
    let channel = EmbeddedChannel()
    let responder = ScriptedResponder()

    init(closesIdleAtOnce: Bool = false) throws {
        try ServerContext.scripted(responder, closesIdleAtOnce: closesIdleAtOnce).setUp(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ text: String) throws {
        channel.pipeline.fireChannelRead(ByteBuffer(string: text))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
    }

    /// What was answered since, without the lines that tell the time.
    func answers() throws -> String {
        channel.embeddedEventLoop.run()
        return String(buffer: try channel.written()).split(separator: "\r\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("Date: ") }.joined(separator: "\n")
    }

    /// The peer has closed its side.
    func closeInput() throws {
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.embeddedEventLoop.run()
    }

    /// Whether the connection ends, at the latest after the time that its peer has to close.
    var isEnding: Bool {
        channel.embeddedEventLoop.advanceTime(by: LingeringCloseHandler.lingering)
        return !channel.isActive
    }
}

private func answer(_ text: String, close: Bool = false) -> String {
    "HTTP/1.1 200 OK\nContent-Length: \(text.utf8.count)\n\(close ? "Connection: close\n" : "")\n\(text)"
}

@Suite struct HTTP1ConnectionTests {
    private static let three = """
        POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
        POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n\
        GET /c HTTP/1.1\r\nHost: a\r\n\r\n
        """
    private static let answers = answer("POST /a hello") + answer("POST /b abcde") + answer("GET /c ")

    @Test func `requests are answered alike however their bytes are split`() throws {
        for split in 1..<Self.three.utf8.count {
            let connection = try TestConnection()
            try connection.send(String(decoding: Array(Self.three.utf8)[..<split], as: UTF8.self))
            try connection.send(String(decoding: Array(Self.three.utf8)[split...], as: UTF8.self))
            #expect(try connection.answers() == Self.answers, "split at \(split)")
            #expect(connection.channel.isActive)
        }
    }

    @Test func `requests that come byte by byte are answered`() throws {
        let connection = try TestConnection()
        for byte in Self.three.utf8 { try connection.send(String(decoding: [byte], as: UTF8.self)) }
        #expect(try connection.answers() == Self.answers)
    }

    @Test func `responses keep the order of pipelined requests`() throws {
        let connection = try TestConnection()
        try connection.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try connection.answers() == "")
        #expect(connection.responder.answered.isEmpty)
        connection.responder.answerNext()
        #expect(try connection.answers() == answer("GET /later late") + answer("GET /b "))
    }

    @Test func `a thousand pipelined requests are answered without recursion`() throws {
        let connection = try TestConnection()
        try connection.send(
            "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
                + String(repeating: "GET /b HTTP/1.1\r\nHost: a\r\n\r\n", count: 1_000))
        connection.responder.answerNext()
        #expect(connection.responder.answered.count == 1_001)
    }

    @Test func `a refusal follows the responses before it and ends the connection`() throws {
        let connection = try TestConnection()
        try connection.send(
            "GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.responder.answerNext()
        let answers = try connection.answers()
        #expect(answers.hasPrefix(answer("GET /later late") + "HTTP/1.1 400 Bad Request\n"))
        #expect(answers.contains("Connection: close"))
        #expect(answers.hasSuffix("request.malformed"))
        #expect(connection.responder.answered == ["/later"])
        #expect(connection.isEnding)
    }

    @Test(arguments: [
        "GET /a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a b\r\n\r\n", "GET /a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", "garbage\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
    ])
    func `a request with several meanings is refused and nothing behind it is read`(request: String) throws {
        let connection = try TestConnection()
        try connection.send(request + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        let answers = try connection.answers()
        #expect(answers.hasPrefix("HTTP/1.1 400 Bad Request\n"), "\(answers)")
        #expect(connection.responder.answered.isEmpty)
        #expect(connection.isEnding)
    }

    @Test func `a refusal of a HEAD request has no body`() throws {
        let connection = try TestConnection()
        try connection.send("HEAD /a HTTP/1.1\r\n\r\n")
        #expect(try connection.answers().hasSuffix("\n\n"))
    }

    @Test func `a body that nobody reads is discarded where it is short and ends the connection where it is long`()
        throws
    {
        let short = try TestConnection()
        try short.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n")
        try short.send(String(repeating: "x", count: 20_000) + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try short.answers() == answer("POST /refused no") + answer("GET /b "))
        let long = try TestConnection()
        try long.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n")
        #expect(try long.answers() == answer("POST /refused no", close: true))
        #expect(long.isEnding)
    }

    @Test func `short refused bodies end no connection, however many there are`() throws {
        let connection = try TestConnection()
        for _ in 0..<30 {
            try connection.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n")
            try connection.send(String(repeating: "x", count: 20_000))
        }
        #expect(try connection.answers() == String(repeating: answer("POST /refused no"), count: 30))
        #expect(!connection.isEnding)
    }

    private static let refused = "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"

    @Test func `the rest of a refused body that trickles ends the connection`() throws {
        let connection = try TestConnection()
        try connection.send(Self.refused)
        #expect(try connection.answers() == answer("POST /refused no"))
        var seconds = 0
        while connection.channel.isActive, seconds < 100 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            if connection.channel.isActive { try connection.send("x") }
            seconds += 1
        }
        #expect(seconds < 10)
        #expect(connection.responder.discards.withLock { $0.count } == 0)
    }

    @Test func `the rest of a refused body that comes fast enough, and never ends, ends the connection too`() throws {
        let connection = try TestConnection()
        try connection.send(Self.refused)
        var seconds = 0
        while connection.channel.isActive, seconds < 100 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            if connection.channel.isActive { try connection.send(String(repeating: "x", count: 600)) }
            seconds += 1
        }
        #expect((30..<40).contains(seconds))
        #expect(connection.responder.discards.withLock { $0.count } == 0)
    }

    @Test func `what is thrown away counts as incomplete, and beyond the share the connection ends`() throws {
        let connection = try TestConnection()
        try connection.send(Self.refused)
        #expect(connection.responder.discards.withLock { $0.count } == 1)
        try connection.send(String(repeating: "x", count: 200_000))
        #expect(connection.responder.discards.withLock { $0.count } == 0)
        let beyond = try TestConnection()
        beyond.responder.discards.withLock { $0.limit = 0 }
        try beyond.send(Self.refused)
        #expect(try beyond.answers() == answer("POST /refused no"))
        #expect(beyond.isEnding)
    }

    @Test func `a request whose body is not complete is answered early behind a slower one too`() throws {
        let connection = try TestConnection()
        try connection.send(
            "GET /later HTTP/1.1\r\nHost: a\r\n\r\nPOST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        connection.responder.answerNext()
        #expect(try connection.answers() == answer("GET /later late") + answer("POST /refused no"))
    }

    @Test func `a body beyond what is collected is refused while it arrives`() throws {
        let connection = try TestConnection()
        try connection.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<9 { try connection.send("4000\r\n" + String(repeating: "x", count: 0x4000) + "\r\n") }
        #expect(try connection.answers() == answer("POST /a request.tooLarge", close: true))
        #expect(connection.isEnding)
    }

    @Test func `the word that a client waits for comes when its body is wanted`() throws {
        let connection = try TestConnection()
        try connection.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(try connection.answers() == "HTTP/1.1 100 Continue\n\n")
        try connection.send("ab")
        #expect(try connection.answers() == answer("POST /a ab"))
        let refused = try TestConnection()
        try refused.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(try refused.answers() == answer("POST /refused no", close: true))
    }

    @Test func `a target in absolute form is answered like its path`() throws {
        for target in ["http://a/c?d", "HTTP://A:80/c?d", "https://a:443/c?d"] {
            let connection = try TestConnection()
            try connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try connection.answers() == answer("GET /c?d "), "\(target)")
        }
        for (target, path) in [("http://a", "/"), ("http://a?b", "/?b"), ("http://a/", "/")] {
            let connection = try TestConnection()
            try connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try connection.answers() == answer("GET \(path) "), "\(target)")
        }
    }

    @Test(arguments: [
        "http://b/c", "http://a:81/c", "http://u@a/c", "http:///c", "http://", "ftp://a/c", "http:/a", "https://a:80/c",
        "a/c",
        "http://a/c#d", "*",
    ]) func `a target in absolute form for another host or of another form is refused`(target: String) throws {
        let connection = try TestConnection()
        try connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try connection.answers().hasPrefix("HTTP/1.1 400 "))
    }

    @Test func `HTTP 1-0 is answered in its version and its connection ends`() throws {
        let connection = try TestConnection()
        try connection.send("GET /a HTTP/1.0\r\nHost: a\r\n\r\n")
        #expect(try connection.answers() == answer("GET /a ", close: true).replacing("HTTP/1.1", with: "HTTP/1.0"))
        #expect(connection.isEnding)
    }

    @Test func `a slow reader gets a large response piece by piece`() throws {
        let connection = try TestConnection()
        connection.channel.isWritable = false
        try connection.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try connection.channel.written().readableBytes < 1_000)
        connection.channel.isWritable = true
        connection.channel.pipeline.fireChannelWritabilityChanged()
        let rest = try connection.answers()
        #expect(rest.hasPrefix(String(repeating: "x", count: 300_000)))
        #expect(rest.hasSuffix(answer("GET /b ")))
    }

    @Test func `a response under way is written to a peer that has closed its side`() throws {
        let connection = try TestConnection()
        try connection.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        try connection.closeInput()
        #expect(connection.channel.isActive)
        connection.responder.answerNext()
        #expect(try connection.answers() == answer("GET /later late"))
        #expect(connection.isEnding)
    }

    @Test func `work for a peer that has closed its side is cancelled after a second, and at once where it has gone`()
        throws
    {
        let half = try TestConnection()
        try half.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        let work = half.responder.waiting[0].work
        try half.closeInput()
        #expect(!work.isCancelled)
        half.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(work.isCancelled)
        let gone = try TestConnection()
        try gone.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        gone.channel.pipeline.fireChannelInactive()
        #expect(gone.responder.waiting[0].work.isCancelled)
        gone.responder.answerNext()
        #expect(try gone.answers() == "")
    }

    @Test func `of a peer that has closed its side, an endless body ends at once and a silent one soon`() throws {
        for (path, seconds) in [("/events", 0), ("/silent", 5)] as [(String, Int64)] {
            let connection = try TestConnection()
            try connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            let stream = connection.responder.silent[0]
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(100))
            #expect(!stream.hasEnded)
            try connection.closeInput()
            #expect(stream.hasEnded == (seconds == 0))
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
            #expect(stream.hasEnded)
            #expect(connection.isEnding)
        }
    }

    @Test func `a body that goes on reaches a peer that has closed its side`() throws {
        let connection = try TestConnection()
        try connection.send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
        try connection.closeInput()
        let stream = connection.responder.silent[0]
        for _ in 0..<5 {
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
            stream.channel?.write(ByteBuffer(string: "piece"))
            stream.channel?.flush()
            #expect(try connection.answers().hasSuffix("5\npiece\n"))
        }
        #expect(!stream.hasEnded)
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(stream.hasEnded)
    }

    @Test func `a body that breaks off is told to its reader`() throws {
        let connection = try TestConnection()
        try connection.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\nabc")
        try connection.closeInput()
        #expect(try connection.answers().contains("request.malformed"))
        #expect(connection.isEnding)
    }

    @Test func `a quiet connection is closed, and one that owes an answer is not`() throws {
        for request in ["", "GET /a HTT", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"] {
            let quiet = try TestConnection()
            if !request.isEmpty { try quiet.send(request) }
            quiet.channel.embeddedEventLoop.advanceTime(by: .seconds(31))
            quiet.channel.embeddedEventLoop.advanceTime(by: .seconds(31))
            #expect(quiet.isEnding, "\(request)")
        }
        let busy = try TestConnection()
        try busy.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        busy.channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(busy.channel.isActive)
    }

    @Test func `a stop answers what is asked and closes what is idle`() throws {
        let busy = try TestConnection()
        try busy.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        busy.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        busy.responder.answerNext()
        #expect(try busy.answers() == answer("GET /later late", close: true))
        #expect(busy.isEnding)
        let late = try TestConnection()
        try late.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try late.answers()
        late.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        try late.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try late.answers() == answer("GET /b ", close: true))
    }

    @Test func `where it is configured, a stop closes what is idle at once, and answers what is asked`() throws {
        let idle = try TestConnection(closesIdleAtOnce: true)
        try idle.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try idle.answers()
        #expect(!idle.isEnding)
        idle.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(idle.isEnding)
        let busy = try TestConnection(closesIdleAtOnce: true)
        try busy.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        busy.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!busy.isEnding)
        busy.responder.answerNext()
        #expect(try busy.answers() == answer("GET /later late", close: true))
        #expect(busy.isEnding)
    }

    @Test func `chunks that take much beside the body are refused`() throws {
        let connection = try TestConnection()
        try connection.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "1;" + String(repeating: "e", count: 1_000) + "\r\nx\r\n"
        for _ in 0..<40 { try connection.send(chunk) }
        #expect(try connection.answers().hasSuffix("request.tooLarge"))
        #expect(connection.isEnding)
    }

    @Test func `what chunks take beside their body is limited by the body`() {
        var framing = ChunkFraming()
        func reading(_ bytes: Int, body: Int) -> Bool {
            framing.readingBegan()
            framing.bodyArrived(body)
            return framing.readingEnded(bytes)
        }
        framing.bodyBegan(isChunked: true)
        for _ in 0..<100_000 { #expect(reading(6, body: 1)) }
        framing.bodyBegan(isChunked: true)
        #expect(reading(ChunkFraming.allowance, body: 0))
        #expect(!reading(1, body: 0))
        framing.bodyEnded()
        #expect(reading(1 << 20, body: 0))
        framing.bodyBegan(isChunked: false)
        #expect(reading(1 << 20, body: 0))
    }

    @Test func `what a slow reader takes is seen in spans`() {
        var progress = WriteProgress()
        progress.wrote(1_000)
        #expect(progress.look(waiting: 900, atLeast: 200) == .goesOn)
        #expect(progress.look(waiting: 600, atLeast: 200) == .goesOn)
        #expect(progress.look(waiting: 500, atLeast: 200) == .tooSlow)
        #expect(progress.look(waiting: 0, atLeast: 200) == .idle)
        progress.wrote(1_000)
        #expect(progress.look(waiting: 1_000, atLeast: 200) == .goesOn)
    }
}
