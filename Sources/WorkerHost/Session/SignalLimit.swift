/// Bounds how many live signals one worker sends, and how long they are: each goes to every listener of its group. A state machine.
struct SignalLimit {
    /// In the long run, and at once after a pause.
    static let perSecond = 200
    static let atOnce = 1_000
    /// Bytes of a signal's data, counted with ``WireValue/approximateSize``.
    static let bytes = 64 << 10

    private static let interval = Duration.seconds(1) / perSecond
    /// When as many as may come at once were sent, at the even rate.
    private var free: ContinuousClock.Instant?
    private var omitted = 0
    private var reported: ContinuousClock.Instant?

    /// Whether a signal of this size is sent, and how many were not, where that is to be logged: once a second.
    mutating func take(_ size: Int, at now: ContinuousClock.Instant) -> (isTaken: Bool, omitted: Int?) {
        let next = max(free ?? now, now)
        let isTaken = size <= Self.bytes && next - now <= Self.interval * (Self.atOnce - 1)
        if isTaken { free = next + Self.interval } else { omitted += 1 }
        guard omitted > 0, reported.map({ now - $0 >= .seconds(1) }) ?? true else { return (isTaken, nil) }
        defer { (omitted, reported) = (0, now) }
        return (isTaken, omitted)
    }
}
