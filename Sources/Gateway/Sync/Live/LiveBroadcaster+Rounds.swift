import AdapterKit
import NIOCore
import RecordStorage
import Synchronization

extension LiveBroadcaster {
    /// How many streams of an event loop are told in one go; others get their turn in between.
    private static let portion = 128

    /// Those who wait for nothing but their place in a round, by event loop; the others are woken.
    func tell(_ waiters: [LiveWaiter]) async {
        var told: [ObjectIdentifier: [LiveWaiter]] = [:]
        for waiter in waiters {
            guard let loop = waiter.told?.loop else {
                waiter.resume(returning: .changed)
                continue
            }
            told[ObjectIdentifier(loop), default: []].append(waiter)
        }
        await withTaskGroup(of: Void.self) { group in
            for waiters in told.values { group.addTask { await self.tellInPortions(waiters) } }
        }
    }

    /// The next commit waits for the round: what is committed meanwhile is told together.
    private func tellInPortions(_ waiters: [LiveWaiter]) async {
        var round = LiveRound(pulls: pulls, store: store)
        var rest = waiters[...]
        while let loop = rest.first?.told?.loop {
            let portion = Array(rest.prefix(Self.portion))
            rest = rest.dropFirst(portion.count)
            let queries = portion.compactMap { $0.told?.stream.query }
            let answers = queries.count == portion.count ? await round.answers(to: queries) : []
            do {
                try await loop.submit { self.tell(portion, answers) }.get()
            } catch {
                for waiter in portion { waiter.resume(returning: .changed) }
            }
        }
    }

    /// On the event loop. Who has lost its place or its credential meanwhile is told nothing any more.
    private func tell(_ waiters: [LiveWaiter], _ answers: [LiveResponse?]) {
        let isOpen = subscriptions.withLock { subscriptions in waiters.map { subscriptions.isOpen($0.number) } }
        var waiting: [LiveWaiter] = []
        for (index, waiter) in waiters.enumerated() {
            guard isOpen[index] else {
                waiting.append(waiter)
                continue
            }
            if index < answers.count, let answer = answers[index], waiter.told?.stream.tell(answer) == true {
                waiting.append(waiter)
            } else {
                waiter.resume(returning: .changed)
            }
        }
        waitOn(waiting)
    }

    private func waitOn(_ waiters: [LiveWaiter]) {
        let due = ContinuousClock.now + heartbeat
        let reasons = subscriptions.withLock { subscriptions in
            waiters.map { subscriptions.wait($0.number, $0, seen: $0.told?.stream.seen ?? Revision(0), until: due) }
        }
        for (waiter, reason) in zip(waiters, reasons) {
            if let reason { waiter.resume(returning: reason) }
        }
    }
}

/// A stream's task that sleeps. Rounds pass it about, so it is one reference.
final class LiveWaiter: Sendable {
    let number: UInt64
    /// Whom to tell without waking its task, and where; nil: it is to look for itself.
    let told: (stream: LiveStream, loop: any EventLoop)?
    private let continuation: CheckedContinuation<LiveWaking, Never>

    init(_ number: UInt64, telling stream: LiveStream?, _ continuation: CheckedContinuation<LiveWaking, Never>) {
        self.number = number
        told = stream.flatMap { stream in stream.eventLoop.map { (stream, $0) } }
        self.continuation = continuation
    }

    func resume(returning reason: LiveWaking) { continuation.resume(returning: reason) }
}
