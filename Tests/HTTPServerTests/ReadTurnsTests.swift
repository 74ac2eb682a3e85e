import AdapterKit
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

/// Connections of one server on one event loop.
private struct Connections {
    final class Connection {
        let channel: EmbeddedChannel
        let reads = ReadCount()

        init(_ server: ServerContext, on loop: EmbeddedEventLoop) throws {
            channel = EmbeddedChannel(loop: loop)
            try server.setUp(channel)
            try channel.pipeline.syncOperations.addHandler(reads, position: .first)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        /// Sends a request of the account, and asks to be read again.
        func ask(as account: String, at path: String = "/of/") {
            channel.pipeline.fireChannelRead(ByteBuffer(string: "GET \(path)\(account) HTTP/1.1\r\nHost: a\r\n\r\n"))
            channel.pipeline.fireChannelReadComplete()
            channel.read()
        }
    }

    /// Counts how often the socket would have been read.
    final class ReadCount: ChannelOutboundHandler {
        typealias OutboundIn = IOData

        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    let loop = EmbeddedEventLoop()
    let responder = ScriptedResponder()
    let server: ServerContext

    init() { server = ServerContext.scripted(responder, connections: 100) }

    func open(_ count: Int) throws -> [Connection] {
        try (0..<count).map { _ in try Connection(server, on: loop) }
    }

    func round() { loop.advanceTime(by: ReadTurns.pause) }
}

@Suite struct ReadTurnsTests {
    @Test func `an account with few connections is read at once`() throws {
        let all = Connections()
        let own = try all.open(ReadTurns.perRound)
        for _ in 0..<2 { for connection in own { connection.ask(as: "alice") } }
        #expect(own.allSatisfy { $0.reads.count == 2 })
    }

    @Test func `the connections of an account with many are read in rounds, another account's at once`() throws {
        let all = Connections()
        let (own, others) = (try all.open(3 * ReadTurns.perRound), try all.open(2))
        for connection in own { connection.ask(as: "alice") }
        while own.contains(where: { $0.reads.count < 1 }) { all.round() }
        for connection in own + others { connection.ask(as: own.contains { $0 === connection } ? "alice" : "bob") }
        #expect(own.allSatisfy { $0.reads.count == 1 })
        #expect(others.allSatisfy { $0.reads.count == 1 })
        for round in 1...3 {
            all.round()
            #expect(own.count { $0.reads.count == 2 } == round * ReadTurns.perRound)
        }
        all.round()
        #expect(own.allSatisfy { $0.reads.count == 2 })
    }

    @Test func `a connection whose request is not answered is not read where its account has many`() throws {
        let all = Connections()
        let own = try all.open(ReadTurns.perRound + 1)
        for connection in own { connection.ask(as: "alice") }
        while own.contains(where: { $0.reads.count < 1 }) { all.round() }
        own[0].ask(as: "", at: "/later")
        all.round()
        #expect(own[0].reads.count == 1)
        all.responder.answerNext()
        all.round()
        #expect(own[0].reads.count == 2)
    }

    @Test func `connections that end make room for those that stay`() throws {
        let all = Connections()
        let own = try all.open(ReadTurns.perRound + 1)
        for connection in own { connection.ask(as: "alice") }
        while own.contains(where: { $0.reads.count < 1 }) { all.round() }
        own[0].channel.pipeline.fireChannelInactive()
        own[1].ask(as: "alice")
        #expect(own[1].reads.count == 2)
    }

    @Test func `a stop reads what waits for its turn`() throws {
        let all = Connections()
        let own = try all.open(ReadTurns.perRound + 1)
        for connection in own { connection.ask(as: "alice") }
        while own.contains(where: { $0.reads.count < 1 }) { all.round() }
        own[0].ask(as: "alice")
        #expect(own[0].reads.count == 1)
        own[0].channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(own[0].reads.count == 2)
    }
}
