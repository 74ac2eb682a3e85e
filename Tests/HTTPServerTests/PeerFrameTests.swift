import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

@Suite struct PeerFrameTests {
    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    private static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: String = "") -> ByteBuffer
    {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt8(0))
        bytes.writeInteger(UInt16(payload.utf8.count))
        bytes.writeInteger(type)
        bytes.writeInteger(flags)
        bytes.writeInteger(stream)
        bytes.writeString(payload)
        return bytes
    }

    @Test func `frames are found however their bytes arrive, and all bytes are handed out`() {
        var bytes = ByteBuffer(string: Self.preface)
        for frame in [
            Self.frame(4, "\0\u{1}\0\0\u{10}\0"), Self.frame(0, stream: 1, "some data"),
            Self.frame(0x42, stream: 3, "x"),
            Self.frame(4, flags: 1),
        ] {
            bytes.writeImmutableBuffer(frame)
        }
        for size in 1...bytes.readableBytes {
            var (scanner, rest, out) = (FrameScanner(), bytes, ByteBuffer())
            var (heads, ends): ([FrameScanner.Frame], [FrameScanner.Frame]) = ([], [])
            while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
                scanner.append(piece)
                while let part = scanner.next() {
                    switch part {
                    case .bytes(let bytes), .settings(let bytes): out.writeImmutableBuffer(bytes)
                    case .head(let frame, let bytes):
                        heads.append(frame)
                        out.writeImmutableBuffer(bytes)
                    case .end(let frame): ends.append(frame)
                    }
                }
            }
            #expect(out == bytes)
            #expect(heads == ends)
            #expect(heads.map(\.type) == [4, 0, 0x42, 4])
            #expect(heads.map(\.stream) == [0, 1, 3, 0])
            #expect(heads.map(\.isSettingsAcknowledgement) == [false, false, false, true])
        }
    }

    private static func settings(_ values: [(name: UInt16, value: UInt32)]) -> ByteBuffer {
        var bytes = frame(4)
        bytes.setInteger(UInt16(6 * values.count), at: 1)
        for (name, value) in values {
            bytes.writeInteger(name)
            bytes.writeInteger(value)
        }
        return bytes
    }

    /// Settings of the beginning and later ones, each before and after the peer has acknowledged ours.
    @Test func `a peer may make the table of our fields smaller and not larger, however its bytes arrive`() throws {
        func conversation(_ limit: UInt32) -> ByteBuffer {
            var bytes = ByteBuffer(string: Self.preface)
            bytes.writeImmutableBuffer(Self.settings([(4, 100_000), (1, min(limit, 1 << 20)), (1, 100)]))
            // The acknowledgement that the handler puts in takes the place of the peer's.
            bytes.writeImmutableBuffer(Self.frame(4, flags: 1))
            bytes.writeImmutableBuffer(Self.frame(0, stream: 1, "data"))
            bytes.writeImmutableBuffer(Self.settings([(1, min(limit, .max)), (3, 7)]))
            bytes.writeImmutableBuffer(Self.settings([]))
            bytes.writeImmutableBuffer(Self.frame(0, stream: 1, "more"))
            bytes.writeImmutableBuffer(Self.settings([(1, min(limit, 4_097))]))
            return bytes
        }
        let expected = conversation(PeerFrameHandler.headerTable)
        for size in 1...expected.readableBytes {
            let channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandler(
                PeerFrameHandler(head: 1_000, streams: 100, since: channel.eventLoop.now))
            var (rest, passed) = (conversation(.max), ByteBuffer())
            while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
                channel.pipeline.fireChannelRead(piece)
            }
            while var bytes = try channel.readInbound(as: ByteBuffer.self) { passed.writeBuffer(&bytes) }
            #expect(passed == expected)
        }
    }

    /// How many of `count` frames are within the budget.
    private static func taken(_ count: Int, from budget: inout PeerFrameBudget, at now: NIODeadline) -> Int {
        var taken = 0
        for _ in 0..<count where budget.take(now: now) { taken += 1 }
        return taken
    }

    @Test func `a flood is over its budget, and time gives some of it back`() {
        let start = NIODeadline.now()
        var budget = PeerFrameBudget(now: start)
        #expect(Self.taken(PeerFrameBudget.burst + 1, from: &budget, at: start) == PeerFrameBudget.burst)
        let afterwards = Self.taken(PeerFrameBudget.burst, from: &budget, at: start + .seconds(1))
        #expect((1...PeerFrameBudget.perSecond).contains(afterwards))
    }

    @Test func `a download pays for the windows that it opens, however small its steps`() {
        let now = NIODeadline.now()
        var (budget, taken) = (PeerFrameBudget(now: now), 0)
        for _ in 0..<10_000 {
            budget.noteSent(9)
            budget.noteSent(16_384)
            taken += Self.taken(32, from: &budget, at: now)
        }
        #expect(taken == 320_000)
    }

    @Test func `requests and their small answers pay for a few frames each`() {
        let now = NIODeadline.now()
        var (budget, taken) = (PeerFrameBudget(now: now), 0)
        for _ in 0..<10_000 {
            budget.requestArrived()
            taken += Self.taken(PeerFrameBudget.perRequest, from: &budget, at: now)
        }
        #expect(taken == 10_000 * PeerFrameBudget.perRequest)
    }
}
