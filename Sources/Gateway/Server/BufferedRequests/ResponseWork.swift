import NIOCore

/// The work on an answer, as its connection knows it: cancelled when nobody waits for it any more.
struct ResponseWork {
    /// How long work goes on for a peer that sends nothing more. Most often it has gone, which looks the same as a
    /// connection of which it closed its half.
    private static let halfClosed = TimeAmount.seconds(1)

    private let work: any CancellableWork

    init(_ work: any CancellableWork) {
        self.work = work
    }

    func cancel() { work.cancel() }

    func cancelSoon(on loop: any EventLoop) {
        loop.scheduleTask(in: Self.halfClosed) { [work] in work.cancel() }
    }
}
