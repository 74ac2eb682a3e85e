import AdapterKit
import Synchronization
import Testing

@testable import AdapterWorker

@Suite struct `What a worker counts` {
    @Test func `is sent later where it cannot be sent, added up, and nothing is lost`() async throws {
        let sent = Sent()
        let isFull = Atomic(true)
        let metrics = MetricSender { change in
            if isFull.load(ordering: .relaxed) { return false }
            sent.changes.withLock { $0.append(change) }
            return true
        }
        for number in 0..<1_000 {
            metrics.take(MetricChange("counter\(number % 50)", .increment(1)))
            metrics.take(MetricChange("gauge", .set(Double(number))))
        }
        try await Task.sleep(for: .milliseconds(300))
        #expect(sent.all.isEmpty)
        metrics.take(MetricChange("gauge", .set(-1)))
        isFull.store(false, ordering: .relaxed)
        try await sent.until(count: 51)
        let expected = (0..<50).map { MetricChange("counter\($0)", .increment(20)) } + [MetricChange("gauge", .set(-1))]
        #expect(sent.all.sorted { $0.name < $1.name } == expected.sorted { $0.name < $1.name })
        metrics.stop()
    }

    @Test func `is sent by ten events in a tenth of a second, each name in its turn`() async throws {
        let sent = Sent()
        let metrics = MetricSender { change in
            sent.changes.withLock { $0.append(change) }
            return true
        }
        let began = ContinuousClock.now
        while Set(sent.all.map(\.name)).count < 30, ContinuousClock.now - began < .seconds(300) {
            for number in 0..<30 { metrics.take(MetricChange("counter\(number)", .increment(1))) }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(Set(sent.all.map(\.name)).count == 30)
        #expect(Double(sent.all.count) <= 10 * (1 + (ContinuousClock.now - began) / .milliseconds(100)))
        metrics.stop()
    }

    @Test func `goes as far as a sum can go, and ends with the connection`() {
        let sent = Sent()
        let metrics = MetricSender { change in
            sent.changes.withLock { $0.append(change) }
            return true
        }
        metrics.take(MetricChange("imports", .increment(.max)))
        metrics.take(MetricChange("imports", .increment(.max)))
        metrics.flush()
        metrics.stop()
        metrics.take(MetricChange("imports", .increment(1)))
        metrics.flush()
        #expect(sent.all == [MetricChange("imports", .increment(.max))])
    }
}

private final class Sent: Sendable {
    let changes = Mutex<[MetricChange]>([])

    var all: [MetricChange] { changes.withLock { $0 } }

    func until(count: Int) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while all.count < count, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
    }
}
