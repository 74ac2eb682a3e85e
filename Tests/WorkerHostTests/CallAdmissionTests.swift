import AdapterKit
import Admission
import AdmissionTesting
import Testing

@testable import WorkerHost

@Suite struct CallAdmissionTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")
    private let admission = SteppedPolicy(CallAdmission<Int>(limits: CallLimits(inFlight: 4, queued: 3)))

    @Test func `one account's calls leave one to another`() {
        admission.policy.open(1, attempt: 1)
        #expect(
            [alice, alice, alice, alice, bob, bob].map { admission.enter($0) }
                == [.admitted, .admitted, .admitted, .refused, .admitted, .refused])
        admission.leave(1, .answered)
        #expect(admission.enter(alice) == .admitted)
        for call in [2, 3, 7, 5] { admission.leave(AdmissionTicket(call), .answered) }
        #expect(admission.policy.counts.running == 0)
        #expect([bob, bob, bob, bob].map { admission.enter($0) } == [.admitted, .admitted, .admitted, .refused])
    }

    @Test func `one account's calls that wait for the worker leave a place to another`() {
        admission.policy.hold()
        #expect(
            [alice, alice, alice, bob, bob].map { admission.enter($0) }
                == [.waits, .waits, .refused, .waits, .refused])
        admission.policy.open(1, attempt: 1)
        #expect(admission.decide() == [1, 2, 4])
        #expect(admission.policy.counts == AdmissionCounts(running: 3, waiting: 0))
    }

    @Test func `calls that waited are refused when the worker is not to be expected`() {
        admission.policy.hold()
        admission.enter(alice)
        admission.policy.refuse("It crashed.")
        #expect(admission.decide() == [])
        #expect(admission.refused[1] == .unavailable("It crashed."))
        #expect(admission.enter(bob) == .refused)
    }

    @Test func `whatever becomes of the worker, the calls keep their promises`() {
        var attempt = 0
        var scenario = AdmissionScenario(patience: 40) { _ in
            CallAdmission<Int>(limits: CallLimits(inFlight: 5, queued: 6))
        } request: { random in
            CallerIdentity.account("\(Int.random(in: 0..<3, using: &random))")
        } end: { grant, random in
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .answered
            case 1: .expired(nil, attempt: grant.attempt)
            default: .ended(attempt: grant.attempt, wasSent: Bool.random(using: &random))
            }
        }
        scenario.poke = { policy, isEnd, random in
            attempt += 1
            switch Int.random(in: isEnd ? 3..<4 : 0..<4, using: &random) {
            case 0: policy.hold()
            case 1: policy.hold(attempt - 1)
            case 2: policy.refuse("no")
            default: policy.open(attempt, attempt: attempt)
            }
        }
        scenario.mostWaiting = 6
        scenario.broken = { running, _ in
            let own = Dictionary(grouping: running, by: \.request).values.map(\.count).max() ?? 0
            return running.count > 5 || own > 4 ? "\(running.count) run" : nil
        }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}
