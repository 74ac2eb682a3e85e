import Testing

@testable import WorkerHost

@Suite struct SupervisionTests {
    private let start = ContinuousClock.now
    private let limits = SupervisionLimits()

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func running(_ limits: SupervisionLimits = SupervisionLimits()) -> WorkerStateMachine {
        var machine = WorkerStateMachine(limits: limits)
        _ = machine.handle(.start, at: at(0))
        _ = machine.handle(.ready(1), at: at(0))
        return machine
    }

    @Test func aStartLaunchesAndReportsThatItRuns() {
        var machine = WorkerStateMachine(limits: limits)
        #expect(machine.handle(.start, at: at(0)) == [.launch(1)])
        #expect(machine.handle(.ready(1), at: at(1)) == [.open(1), .started(nil)])
        #expect(machine.deadline == at(3))
        #expect(machine.restarts == 0)
    }

    @Test func aFirstAttemptThatFailsIsTheHostsToRepeat() {
        var machine = WorkerStateMachine(limits: limits)
        _ = machine.handle(.start, at: at(0))
        #expect(
            machine.handle(.exited(1, "exit status 1"), at: at(1)) == [
                .report(1, "exit status 1"), .started("exit status 1"),
            ])
        #expect(machine.phase == .idle)
        #expect(machine.deadline == nil)
        #expect(machine.handle(.start, at: at(2)) == [.launch(2)])
    }

    @Test func aStartThatTakesTooLongIsKilledAndReportedWhenTheProcessHasEnded() {
        var machine = WorkerStateMachine(limits: limits)
        _ = machine.handle(.start, at: at(0))
        #expect(machine.handle(.time, at: at(29)) == [])
        #expect(machine.handle(.time, at: at(30)) == [.kill(1)])
        let actions = machine.handle(.exited(1, "signal 9"), at: at(30))
        #expect(
            actions == [
                .report(1, "It has not started within 30.0 seconds."),
                .started("It has not started within 30.0 seconds."),
            ])
    }

    @Test func theFirstCrashIsFollowedByALaunchAtOnce() {
        var machine = running()
        #expect(machine.handle(.disconnected(1, nil), at: at(10)) == [.hold])
        #expect(machine.handle(.exited(1, "signal 4"), at: at(10)) == [.report(1, "signal 4"), .launch(2)])
        #expect(machine.handle(.ready(2), at: at(10.01)) == [.open(2)])
        #expect(machine.restarts == 1)
        #expect(machine.crashes == 1)
    }

    @Test func crashesInARowBackOffAndThenItHasFailed() {
        var machine = running()
        var waits: [Double] = []
        var now = 0.1
        while true {
            let actions = machine.handle(.exited(machine.attempt, "exit status 1"), at: at(now))
            if case .refuse = actions.last { break }
            if let deadline = machine.deadline, case .waiting = machine.phase {
                waits.append((deadline - at(now)) / .seconds(1))
                now += waits.last ?? 0
                #expect(machine.handle(.time, at: deadline) == [.hold, .launch(machine.attempt)])
            }
        }
        #expect(waits.map { ($0 * 10).rounded() / 10 } == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2])
        #expect(machine.phase.name == "failed")
        #expect(machine.crashes == limits.crashesToFail)
    }

    @Test func oneThatHasFailedIsAttemptedAgainAndFailsAtTheNextCrash() {
        var machine = running()
        while machine.phase.name != "failed" {
            if !machine.hasProcess { _ = machine.handle(.time, at: machine.deadline ?? at(1)) }
            _ = machine.handle(.exited(machine.attempt, "exit status 1"), at: at(1))
        }
        let retry = machine.deadline ?? at(0)
        #expect(machine.handle(.time, at: retry) == [.hold, .launch(machine.attempt)])
        let again = machine.handle(.exited(machine.attempt, "exit status 2"), at: retry.advanced(by: .seconds(1)))
        #expect(again == [.report(machine.attempt, "exit status 2"), .refuse("exit status 2")])
        // One that runs for a while is forgiven.
        _ = machine.handle(.time, at: machine.deadline ?? at(0))
        _ = machine.handle(.ready(machine.attempt), at: at(1_000))
        _ = machine.handle(.exited(machine.attempt, "exit status 3"), at: at(1_002))
        #expect(machine.phase.name == "starting")
    }

    @Test func aHeartbeatThatIsNotAnsweredKillsTheWorker() {
        var machine = running()
        #expect(machine.handle(.time, at: at(2)) == [.ping(1)])
        #expect(machine.handle(.answered(1), at: at(3)) == [])
        #expect(machine.handle(.time, at: at(5)) == [.ping(1)])
        #expect(machine.handle(.time, at: at(9.9)) == [])
        #expect(machine.handle(.time, at: at(10)) == [.hold, .kill(1)])
        let actions = machine.handle(.exited(1, "signal 9"), at: at(10))
        #expect(actions == [.report(1, "It has not answered for 5.0 seconds."), .launch(2)])
    }

    @Test func callsThatExpireAreAStallOnlyWhereNoneIsAnsweredForLongOrTheProcessorIsTaken() {
        func reason(_ expired: Int, processorShare: Double, after seconds: Double) -> String? {
            var detector = StallDetector(limits: limits)
            let stall = StallDetector.Stall(since: at(0), expired: expired)
            _ = detector.reason(stall, isCalled: true, processorDemand: .seconds(7), at: at(0))
            return detector.reason(
                stall, isCalled: true, processorDemand: .seconds(7 + seconds * processorShare), at: at(seconds))
        }
        #expect(reason(4, processorShare: 0, after: 59) == nil)
        #expect(reason(4, processorShare: 0, after: 60) == "The worker let 4 calls expire with none answered.")
        #expect(reason(4, processorShare: 1, after: 4) == nil)
        #expect(reason(4, processorShare: 0.5, after: 6) == nil)
        #expect(reason(5, processorShare: 1, after: 5)?.hasPrefix("The worker used the processor, and 5 calls") == true)
        #expect(reason(3, processorShare: 1, after: 600) == nil)
        // An answer in between begins anew.
        var detector = StallDetector(limits: limits)
        func reason(_ stall: StallDetector.Stall?, _ demand: Double, at seconds: Double) -> String? {
            detector.reason(stall, isCalled: true, processorDemand: .seconds(demand), at: at(seconds))
        }
        #expect(reason(.init(since: at(0), expired: 4), 0, at: 0) == nil)
        #expect(reason(nil, 10, at: 10) == nil)
        #expect(reason(.init(since: at(10), expired: 9), 20, at: 20) == nil)
    }

    @Test func aCallThatCameWithLittleTimeLeftSaysNothingOfAWorkerThatIsSilent() {
        for (time, isBroken) in [(Duration.milliseconds(15), false), (.seconds(1.9), false), (.seconds(3), true)] {
            var detector = StallDetector(limits: limits)
            let silence = StallDetector.Silence(received: 7, time: time)
            #expect(detector.reason(silence, isCalled: true) == nil)
            #expect((detector.reason(silence, isCalled: true) != nil) == isBroken, "\(time)")
        }
    }

    @Test func aWorkerWithoutCallsIsNotStalledHoweverManyCallersWentAway() {
        var detector = StallDetector(limits: limits)
        let stall = StallDetector.Stall(since: at(0), expired: 9)
        func reason(isCalled: Bool, _ demand: Double, at seconds: Double) -> String? {
            detector.reason(stall, isCalled: isCalled, processorDemand: .seconds(demand), at: at(seconds))
        }
        for second in stride(from: 0.0, through: 600, by: 2) {
            #expect(reason(isCalled: false, second, at: second) == nil)
        }
        // Calls that wait now and then have waited for two seconds more each time.
        var now = 600.0
        for _ in 1..<30 {
            now += 2
            #expect(reason(isCalled: true, 600, at: now) == nil)
            now += 1_000
            #expect(reason(isCalled: false, 600, at: now) == nil)
        }
        #expect(reason(isCalled: true, 600, at: now + 2)?.hasPrefix("The worker let 9 calls expire") == true)
    }

    @Test func aWorkerOfWhichNothingComesForACallsWholeTimeAndTwoHeartbeatsIsKilled() {
        var detector = StallDetector(limits: limits)
        let silence = StallDetector.Silence(received: 7, time: .seconds(10))
        #expect(detector.reason(silence, isCalled: true) == nil)
        let reason = detector.reason(silence, isCalled: true)
        #expect(reason == "Nothing came from the worker in the 10.0 seconds that a call had, and nothing since.")
        // Something came in between: another call had its time with nothing.
        detector = StallDetector(limits: limits)
        #expect(detector.reason(silence, isCalled: true) == nil)
        #expect(detector.reason(.init(received: 8, time: .seconds(10)), isCalled: true) == nil)
        #expect(detector.reason(nil, isCalled: true) == nil)
        #expect(detector.reason(silence, isCalled: true) == nil)
        // Nobody waits for it.
        #expect(detector.reason(silence, isCalled: false) == nil)
        #expect(detector.reason(silence, isCalled: true) == nil)
    }

    @Test func aStallKillsTheWorker() {
        var machine = running()
        #expect(machine.handle(.stalled(1, "It spins."), at: at(10)) == [.hold, .kill(1)])
        #expect(machine.handle(.exited(1, "signal 9"), at: at(10)) == [.report(1, "It spins."), .launch(2)])
    }

    @Test func oneThatTakesTooMuchOfTheMachineTwiceHasFailedHoweverLongItRan() {
        var machine = running()
        #expect(machine.handle(.exceeded(1, "threads"), at: at(100)) == [.hold, .report(1, "threads"), .launch(2)])
        _ = machine.handle(.ready(2), at: at(100))
        _ = machine.handle(.time, at: at(102))
        _ = machine.handle(.answered(2), at: at(102))
        // Its socket may end before its process was waited for.
        _ = machine.handle(.disconnected(2, nil), at: at(400))
        #expect(machine.handle(.exceeded(2, "threads"), at: at(400)) == [.report(2, "threads"), .refuse("threads")])
        #expect(machine.handle(.time, at: at(460)) == [.hold, .launch(3)])
        _ = machine.handle(.ready(3), at: at(460))
        // Long after, it is a crash as others are.
        _ = machine.handle(.time, at: at(462))
        _ = machine.handle(.answered(3), at: at(462))
        #expect(machine.handle(.exceeded(3, "threads"), at: at(1_100)).last == .launch(4))
    }

    @Test func aWorkerThatClosesItsSocketAndStaysIsKilled() {
        var machine = running()
        _ = machine.handle(.disconnected(1, nil), at: at(10))
        let deadline = at(10).advanced(by: limits.disconnectTolerance)
        #expect(machine.deadline == deadline)
        #expect(machine.handle(.time, at: deadline) == [.kill(1)])
        let actions = machine.handle(.exited(1, "signal 9"), at: at(10.2))
        #expect(actions.first == .report(1, "The worker closed its socket, and ended late: signal 9"))
    }

    @Test func aWorkerThatBreaksTheProtocolIsKilledAtOnce() {
        var machine = running()
        #expect(machine.handle(.disconnected(1, "The worker broke the protocol."), at: at(10)) == [.hold, .kill(1)])
        #expect(
            machine.handle(.exited(1, "signal 9"), at: at(10)).first == .report(1, "The worker broke the protocol."))
    }

    @Test(arguments: ["The worker broke the protocol.", nil]) func aFaultOfAWorkerThatWasStableIsTheFirstOfARow(
        _ fault: String?
    ) {
        var machine = running()
        for attempt in 1...20 {
            let now = at(Double(attempt * 10))
            _ = machine.handle(.disconnected(attempt, fault), at: now)
            let actions = machine.handle(.exited(attempt, "signal 9"), at: now)
            #expect(actions.last == .launch(attempt + 1))
            _ = machine.handle(.ready(attempt + 1), at: now)
        }
    }

    @Test func whatHappensToAnEarlierProcessIsIgnored() {
        var machine = running()
        _ = machine.handle(.exited(1, "signal 4"), at: at(10))
        let before = machine
        for event: WorkerStateMachine.Event in [
            .ready(1), .refused(1, "late"), .notLaunched(1, "late"), .disconnected(1, nil), .answered(1),
            .exited(1, "late"),
        ] {
            #expect(machine.handle(event, at: at(11)) == [])
            #expect(machine == before)
        }
    }

    @Test func aStopTerminatesThenKillsAndIsOverWhenTheProcessHasEnded() {
        var machine = running()
        #expect(machine.handle(.stop, at: at(10)) == [.refuse("It is stopped."), .terminate(1)])
        #expect(machine.handle(.time, at: at(12)) == [.kill(1)])
        #expect(machine.handle(.exited(1, "signal 9"), at: at(12)) == [.stopped])
        #expect(machine.handle(.start, at: at(13)) == [.started("The worker is already stopped.")])
        #expect(machine.crashes == 0)
    }

    @Test func aRestartIsNoCrash() {
        var machine = running()
        #expect(machine.handle(.restart, at: at(10)) == [.hold, .terminate(1)])
        #expect(machine.handle(.disconnected(1, nil), at: at(10)) == [])
        #expect(machine.handle(.exited(1, "exit status 0"), at: at(10)) == [.launch(2)])
        #expect(machine.crashes == 0)
    }

    @Test func aRestartAttemptsOneThatHasFailedAtOnce() {
        var machine = running()
        while machine.phase.name != "failed" {
            if !machine.hasProcess { _ = machine.handle(.time, at: machine.deadline ?? at(1)) }
            _ = machine.handle(.exited(machine.attempt, "exit status 1"), at: at(1))
        }
        #expect(machine.handle(.restart, at: at(2)) == [.hold, .launch(machine.attempt)])
    }

    // MARK: Any order of events

    /// Kept true whatever happens: at most one process, no launch after a stop, no end that is not reported or asked for,
    /// and always something that goes on by itself.
    @Test func inAnyOrderOfEventsThereIsOneProcessAtMostAndNoneAfterTheStop() {
        var runs = 0
        for seed in 1...400 {
            var world = SimulatedWorker(seed: UInt64(seed))
            for _ in 0..<300 { world.step() }
            world.finish()
            #expect(world.violations.isEmpty, "seed \(seed): \(world.violations)")
            runs += world.launches
        }
        #expect(runs > 4_000)
    }
}

/// Processes and time as a worker's supervision could meet them, from a seed.
private struct SimulatedWorker {
    private var random: SplitMix
    private var machine: WorkerStateMachine
    private var now = ContinuousClock.now
    /// The attempt whose process is there, and whether it was killed.
    private var process: (attempt: Int, isKilled: Bool)?
    private var reported: Set<Int> = []
    private var hasStopped = false
    private(set) var launches = 0
    private(set) var violations: [String] = []

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        machine = WorkerStateMachine(limits: SupervisionLimits())
    }

    mutating func step() {
        now = now.advanced(by: .milliseconds(Int(random.below(3_000))))
        let attempt = random.below(5) == 0 ? max(0, machine.attempt - 1) : machine.attempt
        switch random.below(12) {
        case 0: take(.start)
        case 1, 2: take(.ready(attempt))
        case 3: take(.refused(attempt, random.below(2) == 0 ? nil : "refused"))
        case 4: take(.disconnected(attempt, random.below(2) == 0 ? nil : "fault"))
        case 5: take(.answered(attempt))
        case 6: take(random.below(5) == 0 ? .stalled(attempt, "stalled") : .answered(attempt))
        case 7, 8: if process != nil { end(isExcess: random.below(4) == 0) }
        case 9 where random.below(10) == 0: take(.restart)
        case 10 where random.below(100) == 0: take(.stop)
        default: wait()
        }
        if process?.isKilled == true, random.below(2) == 0 { end() }
    }

    /// After a stop, all comes to an end.
    mutating func finish() {
        take(.stop)
        for _ in 0..<10 {
            if process?.isKilled == true { end() }
            wait()
        }
        if machine.phase != .stopped { violations.append("not stopped but \(machine.phase)") }
        if process != nil { violations.append("a process is left") }
    }

    private mutating func wait() {
        if let deadline = machine.deadline { now = max(now, deadline) }
        take(.time)
    }

    private mutating func end(isExcess: Bool = false) {
        guard let ended = process else { return }
        process = nil
        take(isExcess ? .exceeded(ended.attempt, "excess") : .exited(ended.attempt, "ended"))
    }

    private mutating func take(_ event: WorkerStateMachine.Event) {
        if event == .stop { hasStopped = true }
        for action in machine.handle(event, at: now) { execute(action) }
        if machine.hasProcess != (process != nil) {
            violations.append("\(event): \(machine.phase) with \(process != nil)")
        }
        if machine.deadline == nil, process?.isKilled == false { violations.append("nothing goes on") }
    }

    private mutating func execute(_ action: WorkerStateMachine.Action) {
        switch action {
        case .launch(let attempt):
            launches += 1
            if process != nil { violations.append("two processes") }
            if hasStopped { violations.append("a launch after the stop") }
            process = (attempt, false)
        case .kill(let attempt):
            if process?.attempt != attempt { violations.append("a kill of another process") }
            process?.isKilled = true
        case .terminate(let attempt), .ping(let attempt):
            if process?.attempt != attempt { violations.append("a signal to another process") }
        case .open(let attempt):
            if process?.attempt != attempt { violations.append("calls to another process") }
        case .report(let attempt, _):
            if !reported.insert(attempt).inserted { violations.append("two reports of one process") }
            if process != nil { violations.append("a report of a process that is there") }
        case .hold, .refuse, .started, .stopped: break
        }
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func below(_ bound: UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return (mixed ^ (mixed >> 31)) % bound
    }
}
