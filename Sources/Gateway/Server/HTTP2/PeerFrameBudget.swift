import NIOCore

/// How many frames a peer may send that ask for nothing: window updates, settings, pings, resets, unknown frames.
///
/// Each costs one; ``burst`` are there at first and at most. Time gives some back, and so does work: a request of the
/// peer, and bytes that it is sent, since whoever downloads opens windows. NIOHTTP2 counts some of these frames too and
/// more strictly, but neither window updates nor what it does not know.
struct PeerFrameBudget {
    static let burst = 1_000
    static let perSecond = 100
    static let perRequest = 8
    /// A download gives back one frame for so many bytes, and ``perWrite`` for every piece, however small.
    static let bytesPerFrame = 256
    static let perWrite = 2

    private var left = Double(burst)
    private var last: NIODeadline

    init(now: NIODeadline) {
        last = now
    }

    /// False where the peer has sent too many.
    mutating func take(now: NIODeadline) -> Bool {
        let passed = Double((now - last).nanoseconds) / 1e9
        last = now
        give(passed * Double(Self.perSecond))
        left -= 1
        return left >= 0
    }

    /// A stream beyond the limit costs its sender a frame, and gives back nothing as requests do.
    mutating func streamRefused() { left -= Double(Self.perRequest + 1) }

    var isExhausted: Bool { left < 0 }

    mutating func requestArrived() { give(Double(Self.perRequest)) }

    mutating func sent(_ bytes: Int) { give(Double(Self.perWrite) + Double(bytes) / Double(Self.bytesPerFrame)) }

    private mutating func give(_ frames: Double) { left = min(Double(Self.burst), left + frames) }
}
