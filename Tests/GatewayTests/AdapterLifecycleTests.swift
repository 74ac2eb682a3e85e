import AdapterKit
import Testing

@testable import Gateway

struct AdapterLifecycleTests {
    private let now = WireDate(secondsSinceReferenceDate: 100)

    @Test func `The waits between attempts double up to the longest`() {
        var machine = AdapterLifecycle(limits: AdapterLimits(longestRetry: .seconds(10)))
        var waits: [Duration] = []
        for _ in 0..<6 {
            let begins = machine.begin()
            #expect(begins)
            guard case .retry(let wait) = machine.noteReturn(failingWith: "no", at: now) else { return }
            waits.append(wait)
        }
        #expect(waits == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(machine.attempts == 6 && machine.phase == .failed("no"))
        #expect(machine.nextAttempt == WireDate(secondsSinceReferenceDate: 110))
    }

    @Test func `Any number of failures has a wait`() {
        #expect(AdapterLimits(longestRetry: .seconds(3600)).wait(afterFailures: .max) == .seconds(3600))
    }

    @Test func `A failed adapter stays failed while it is attempted again, and runs when that succeeds`() {
        var machine = AdapterLifecycle(limits: AdapterLimits())
        _ = machine.begin()
        _ = machine.noteReturn(failingWith: "no", at: now)
        let begins = machine.begin()
        #expect(begins && machine.phase == .failed("no") && machine.nextAttempt == nil)
        let next = machine.noteReturn(failingWith: nil, at: now)
        let beginsAgain = machine.begin()
        #expect(next == .nothing && machine.phase == .running && !beginsAgain)
    }

    @Test func `A start that is late has failed, and runs where it succeeds all the same`() {
        var machine = AdapterLifecycle(limits: AdapterLimits(start: .seconds(3)))
        _ = machine.begin()
        machine.noteDeadline()
        let late = AdapterLifecycle.Phase.failed("It has not started within 3.0 seconds.")
        #expect(machine.phase == late)
        _ = machine.noteReturn(failingWith: "cancelled", at: now)
        #expect(machine.phase == late)
        _ = machine.begin()
        machine.noteDeadline()
        _ = machine.noteReturn(failingWith: nil, at: now)
        #expect(machine.phase == .running)
    }

    @Test func `Only a running adapter is told to stop, and nothing happens after a stop`() {
        var running = AdapterLifecycle(limits: AdapterLimits())
        _ = running.begin()
        _ = running.noteReturn(failingWith: nil, at: now)
        var starting = AdapterLifecycle(limits: AdapterLimits())
        _ = starting.begin()
        let told = [running.stop(), running.stop(), starting.stop()]
        #expect(told == [true, false, false])
        let late = [starting.noteReturn(failingWith: "no", at: now), starting.noteReturn(failingWith: nil, at: now)]
        #expect(late == [.nothing, .nothing])
        starting.noteDeadline()
        let begins = starting.begin()
        #expect(starting.phase == .stopped && !begins)
    }
}
