import NIOCore
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
            Self.frame(4), Self.frame(0, stream: 1, "some data"), Self.frame(0x42, stream: 3, "x"),
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
                    case .bytes(let bytes): out.writeImmutableBuffer(bytes)
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
            budget.sent(9)
            budget.sent(16_384)
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
