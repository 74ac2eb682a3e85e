import AdapterKit
import Admission
import AdmissionTesting
import Identity
import Testing

@Suite struct BackoffQueueTests {
    @Test func `whoever signs in with whatever outcome, the queue keeps its promises`() {
        var limits = LoginBackoff.Limits()
        limits.pair = LoginBackoff.Curve(free: 2, first: .milliseconds(1), cap: .milliseconds(8))
        limits.account = LoginBackoff.Curve(free: 3, first: .milliseconds(1), cap: .milliseconds(8))
        limits.address = LoginBackoff.Curve(free: 4, first: .milliseconds(1), cap: .milliseconds(8))
        var seconds = 0.0
        var scenario = AdmissionScenario(patience: 60) { _ in
            BackoffQueue(LoginBackoff(limits), waiting: 6)
        } request: { random in
            seconds += Double.random(in: 0...0.003, using: &random)
            return BackoffQueue.Request(
                name: "n\(Int.random(in: 0..<4, using: &random))",
                address: ClientAddress("192.0.2.\(Int.random(in: 0..<3, using: &random))"),
                time: WireDate(secondsSinceReferenceDate: seconds))
        } end: { attempt, random in
            let outcomes: [LoginBackoff.Outcome] = [.accepted, .accepted, .refused, .undecided, .unknown]
            return BackoffQueue.End(
                attempt: attempt, outcome: outcomes.randomElement(using: &random) ?? .unknown,
                time: WireDate(secondsSinceReferenceDate: seconds))
        }
        scenario.mostWaiting = 6
        // Others of the same name or address have to run for one to wait.
        scenario.mayGo = { _, running, _ in running.isEmpty }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}
