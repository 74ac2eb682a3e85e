import AdapterKit
import Foundation
import Synchronization
import Testing

@testable import WorkerHost

/// Faults of every kind under load. `PORTICO_WORKER_FAULTS` says how many (60).
@Suite(.timeLimit(.minutes(30))) struct ChaosTests {
    /// Kill, trap, exit, memory, a closed socket, a hang.
    private static let faults = ["K", "T", "X", "K", "M", "T", "C", "X", "K", "H"]

    @Test func afterEachFaultUnderLoadTheWorkerAnswersAgainAndEveryCallHasAnOutcome() async throws {
        let count = ProcessInfo.processInfo.environment["PORTICO_WORKER_FAULTS"].flatMap { Int($0) } ?? 60
        var limits = SupervisionLimits()
        (limits.heartbeatInterval, limits.heartbeatTolerance) = (.milliseconds(100), .seconds(3))
        // Every fault is a first one: what is measured is the restart, not the back-off.
        limits.stableUptime = .zero
        let outcomes = Outcomes()
        let before = Self.residentKiB
        var waits: [String: [Double]] = [:]
        try await Supervised.run(limits) { worker in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        while !Task.isCancelled { await outcomes.note { try await worker.call("read", "a") } }
                    }
                }
                defer { group.cancelAll() }
                for number in 0..<count {
                    let fault = Self.faults[number % Self.faults.count]
                    await #expect(throws: PorticoError.self) { try await worker.call("write", fault) }
                    let start = ContinuousClock.now
                    let answer = try await worker.call("write", "b")
                    #expect(answer == "b")
                    waits[fault, default: []].append((ContinuousClock.now - start) / .milliseconds(1))
                }
            }
            // A machine that stands still for longer than the tolerance ends a worker more.
            #expect(worker.adapter.report.crashes >= count)
            #expect(worker.adapter.report.restarts >= count)
            #expect(worker.adapter.callCounts.inFlight == 0)
        }
        #expect(outcomes.others.isEmpty, "\(outcomes.others)")
        #expect(outcomes.answered > count)
        print("\(count) faults, \(outcomes.answered) reads answered, \(outcomes.refused) refused with 503")
        for (fault, times) in waits.sorted(by: { $0.key < $1.key }) {
            let sorted = times.sorted()
            print(
                "fault \(fault): answers after \(sorted[sorted.count / 2]) ms (median), \(sorted.last ?? 0) ms (worst)")
        }
        print("resident memory: \(before) KiB before, \(Self.residentKiB) KiB after")
    }

    private static var residentKiB: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4
    }
}

/// What became of the calls of a load.
private final class Outcomes: Sendable {
    private let state = Mutex((answered: 0, refused: 0, others: [String]()))

    var answered: Int { state.withLock { $0.answered } }
    var refused: Int { state.withLock { $0.refused } }
    var others: [String] { state.withLock { $0.others } }

    func note(_ call: () async throws -> String) async {
        do {
            _ = try await call()
            state.withLock { $0.answered += 1 }
        } catch is CancellationError {
        } catch let error as PorticoError where error.code == .adapterUnavailable && error.retryAfter != nil {
            state.withLock { $0.refused += 1 }
            // A call that is refused at once never suspends: a loop of such calls would keep its thread from what starts
            // the worker.
            try? await Task.sleep(for: .milliseconds(1))
        } catch {
            state.withLock { $0.others.append("\(error)") }
        }
    }
}
