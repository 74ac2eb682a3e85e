import AdapterKit
import AdapterTesting
import Synchronization
import Testing
import WorkerHost

/// What an adapter's metrics have said, added up.
final class Reported: Sendable {
    struct Values: Sendable {
        var counters: [String: Int64] = [:]
        var gauges: [String: Double] = [:]
        var changes = 0
        /// Of no name, below zero, or no number.
        var refused = 0
    }

    private let state = Mutex(Values())

    var values: Values { state.withLock { $0 } }

    func take(_ change: MetricChange) {
        state.withLock { state in
            state.changes += 1
            switch change.action {
            case .increment(let amount):
                if amount < 0 { state.refused += 1 }
                state.counters[change.name] =
                    (state.counters[change.name] ?? 0).addingReportingOverflow(max(0, amount)).partialValue
            case .set(let value):
                if !value.isFinite { state.refused += 1 }
                state.gauges[change.name] = value
            }
        }
    }

    func until(_ holds: (Values) -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while !holds(values), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
        #expect(holds(values), "\(values)")
    }
}

@Suite struct `The metrics of a worker` {
    private func started(_ reported: Reported) async throws -> (WorkerConnection, RawPeer) {
        let (session, peer) = try await RawPeer.session()
        let records = try MemoryRecords(SampleModule.declare(AdapterConfiguration()))
        async let start: Void = session.start(
            AdapterContext(
                records: records.unrestricted, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock(),
                metrics: AdapterMetrics { reported.take($0) }))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 2, "result": .null])
        try await start
        return (session, peer)
    }

    private func metric(_ name: String, _ kind: String, _ value: WireValue) -> WireValue {
        ["event": "metric", "params": ["name": .string(name), "kind": .string(kind), "value": value]]
    }

    @Test func `of a kind that a later version adds are left alone`() async throws {
        let reported = Reported()
        let (session, peer) = try await started(reported)
        try peer.send(metric("a", "histogram", [1, 2]))
        try peer.send(metric("a", "counter", 2))
        try peer.send(metric("b", "gauge", 2))
        try await reported.until { $0.counters == ["a": 2] && $0.gauges == ["b": 2] }
        session.close()
    }

    @Test func `are taken 200 times a second at most`() async throws {
        let reported = Reported()
        let (session, peer) = try await started(reported)
        let began = ContinuousClock.now
        for number in 0..<2_000 { try peer.send(metric("n\(number)", "counter", 1)) }
        try await peer.answersPing(session)
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        #expect(reported.values.changes >= 200)
        #expect(Double(reported.values.changes) <= 200 * (seconds + 1))
        session.close()
    }

    @Test(arguments: [
        ("counter", WireValue.double(.nan)), ("counter", "1"), ("counter", .uint64(.max)), ("gauge", "1"),
        ("gauge", WireValue.array([])),
        ("counter", .null), ("", .null),
    ])
    func `that are no numbers end the connection`(kind: String, value: WireValue) async throws {
        let (session, peer) = try await started(Reported())
        try peer.send(["event": "metric", "params": ["name": "n", "kind": .string(kind), "value": value]])
        if kind.isEmpty {
            // No kind that is known.
            try await peer.answersPing(session)
            session.close()
        } else {
            guard case .protocolViolation = await session.waitForEnd() else {
                Issue.record("the connection has ended otherwise")
                return
            }
        }
    }
}

extension RawPeer {
    /// All that was sent before has been read then.
    fileprivate func answersPing(_ session: WorkerConnection) async throws {
        try send(["request": 1, "method": "ping", "params": [:]])
        _ = try await received { $0["response"] == 1 }
    }
}
