import AdapterKit
import Testing

@testable import WorkerHost

@Suite struct CallAdmissionTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test func `one account's calls leave one to another`() {
        var admission = CallAdmission<Int, Int>(limits: CallLimits(inFlight: 4, queued: 3))
        _ = admission.open(1, attempt: 1)
        let begun = [alice, alice, alice, alice, bob, bob].map { begins(&admission, $0) }
        #expect(begun == [true, true, true, false, true, false])
        admission.leave(alice)
        let again = begins(&admission, alice)
        #expect(again)
        for _ in 0..<3 { admission.leave(alice) }
        admission.leave(bob)
        #expect(admission.inFlight == 0)
        let others = [bob, bob, bob, bob].map { begins(&admission, $0) }
        #expect(others == [true, true, true, false])
    }

    @Test func `one account's calls that wait for the worker leave a place to another`() {
        var admission = CallAdmission<Int, Int>(limits: CallLimits(inFlight: 4, queued: 3))
        admission.hold()
        var waits: [Bool] = []
        for (waiter, account) in [alice, alice, alice, bob, bob].enumerated() {
            let ticket = admission.ticket()
            waits.append(admission.wait(waiter, ticket, for: account))
        }
        #expect(waits == [true, true, false, true, false])
        #expect(admission.open(1, attempt: 1).sorted() == [0, 1, 3])
        #expect(admission.queued == 0)
    }

    private func begins(_ admission: inout CallAdmission<Int, Int>, _ account: CallerIdentity) -> Bool {
        if case .begin = admission.enter(for: account) { true } else { false }
    }
}
