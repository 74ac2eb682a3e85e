import AdapterKit
import Admission
import Synchronization

/// A worker as operators see it.
public struct WorkerReport: Sendable, Equatable {
    /// `idle`, `starting`, `running`, `ending`, `waiting`, `failed` or `stopped`.
    public var state = "idle"
    /// Why it has failed.
    public var reason: String?
    /// The process; nil: there is none.
    public var process: Int32?
    /// When the process was started; nil: there is none.
    public var launched: WireDate?
    /// Launches after the first that succeeded.
    public var restarts = 0
    /// Ends that were not asked for.
    public var crashes = 0

    /// Whether calls go to it, or wait a little for it.
    public var isServing: Bool { !["idle", "failed", "stopped"].contains(state) }
}

/// Keeps one worker running: executes ``WorkerStateMachine`` on the processes and sessions that there are.
///
/// One task has all of the state. It begins with the first start, and ends with ``stop()`` or with the supervisor; the
/// worker ends with it.
final class WorkerSupervisor: Sendable {
    fileprivate enum Signal: Sendable {
        case event(WorkerStateMachine.Event)
        case start(AdapterContext, CheckedContinuation<String?, Never>)
        case stop(CheckedContinuation<Void, Never>)
        case launched(Int, WorkerProcess)
        case connected(Int, any WorkerSession)
        case exited(Int, ProcessExit)
    }

    /// The parts that the loop shares with callers.
    fileprivate struct Parts: Sendable {
        let program: WorkerProgram
        let connector: any WorkerConnecting
        let calls: WorkerCalls
        let limits: SupervisionLimits
        let crashes: CrashReports
        let clock: any WallClock
        let log: Log
        let signals: AsyncStream<Signal>.Continuation
        let report: Published
        let work: WorkBesideCalls
    }

    fileprivate final class Published: Sendable {
        let value = Mutex(WorkerReport())
        /// The process, which may have ended, and the processor time of those before it.
        let processes = Mutex<(current: WorkerProcess?, spent: Duration)>((nil, .zero))
    }

    private let parts: Parts
    private let stream: AsyncStream<Signal>
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        _ program: WorkerProgram, connector: any WorkerConnecting, calls: WorkerCalls, limits: SupervisionLimits,
        work: WorkBesideCalls, crashes: CrashReports, clock: any WallClock, log: Log
    ) {
        let (stream, signals) = AsyncStream<Signal>.makeStream()
        self.stream = stream
        parts = Parts(
            program: program, connector: connector, calls: calls, limits: limits, crashes: crashes, clock: clock,
            log: log, signals: signals, report: Published(), work: work)
    }

    deinit { parts.signals.finish() }

    var report: WorkerReport { parts.report.value.withLock { $0 } }

    var resourceUsage: ResourceUsage {
        let (process, spent) = parts.report.processes.withLock { $0 }
        var usage = process?.usage ?? ResourceUsage()
        usage.processorTime += spent
        return usage
    }

    /// Returns when the worker runs. Throws `adapter.unavailable` where it does not; it is not attempted again by itself
    /// then.
    func start(_ context: AdapterContext) async throws {
        task.withLock { task in
            guard task == nil else { return }
            let (parts, stream) = (parts, stream)
            task = Task {
                // What it logs later belongs to no request, also where one has made it start.
                await CallContext.$current.withValue(nil) {
                    var loop = SupervisorLoop(parts)
                    await loop.run(stream)
                }
            }
        }
        let reason = await withCheckedContinuation { continuation in
            // The stream has ended where the worker was stopped.
            if case .terminated = parts.signals.yield(.start(context, continuation)) {
                continuation.resume(returning: "It is stopped.")
            }
        }
        if let reason {
            throw PorticoError(
                .adapterUnavailable, "The adapter's program does not run.", retryAfter: 5, logDetail: reason)
        }
    }

    /// Returns when the process has ended.
    func stop() async {
        guard task.withLock({ $0 != nil }) else { return parts.signals.finish() }
        await withCheckedContinuation { continuation in
            if case .terminated = parts.signals.yield(.stop(continuation)) { continuation.resume() }
        }
    }

    /// Launches another process once the calls under way have ended, or the time for that is over. Nothing where none is
    /// wanted.
    func restart() { parts.signals.yield(.event(.restart)) }
}

private struct SupervisorLoop {
    private let parts: WorkerSupervisor.Parts
    private var machine: WorkerStateMachine
    private var stalls: StallDetector
    private var context: AdapterContext?
    private var process: WorkerProcess?
    private var session: (any WorkerSession)?
    private var launched: (instant: ContinuousClock.Instant, date: WireDate)?
    private var exit: ProcessExit?
    /// Calls under way when the session ended.
    private var callsAtEnd: Int?
    /// An attempt to be killed as soon as its process is known.
    private var killed: Int?
    private var starting: CheckedContinuation<String?, Never>?
    private var stopping: [CheckedContinuation<Void, Never>] = []
    private var timer: (Task<Void, Never>, ContinuousClock.Instant)?

    init(_ parts: WorkerSupervisor.Parts) {
        self.parts = parts
        machine = WorkerStateMachine(limits: parts.limits)
        stalls = StallDetector(limits: parts.limits)
    }

    mutating func run(_ stream: AsyncStream<WorkerSupervisor.Signal>) async {
        await withDiscardingTaskGroup { group in
            for await signal in stream {
                for action in take(signal) { execute(action, &group) }
                publish()
                setTimer()
                if machine.phase == .stopped { break }
            }
            process?.kill()
            session?.close()
            timer?.0.cancel()
            parts.signals.finish()
            group.cancelAll()
        }
        // What came after the end.
        for await signal in stream { refuse(signal) }
        starting?.resume(returning: "It is stopped.")
        for continuation in stopping { continuation.resume() }
    }

    private func refuse(_ signal: WorkerSupervisor.Signal) {
        switch signal {
        case .start(_, let continuation): continuation.resume(returning: "It is stopped.")
        case .stop(let continuation): continuation.resume()
        case .launched(_, let process): process.kill()
        case .connected(_, let session): session.close()
        case .event, .exited: break
        }
    }

    private mutating func take(_ signal: WorkerSupervisor.Signal) -> [WorkerStateMachine.Action] {
        let now = ContinuousClock.now
        switch signal {
        case .event(let event):
            if case .disconnected(machine.attempt, _) = event { callsAtEnd = callsAtEnd ?? parts.calls.counts.running }
            let actions = machine.handle(event, at: now)
            guard case .answered(machine.attempt) = event, let process else { return actions }
            let isCalled = parts.calls.counts.running > 0
            let silence = stalls.reason(parts.calls.silence, isCalled: isCalled)
            let stall = stalls.reason(
                parts.calls.stall, isCalled: isCalled, processorDemand: process.processorDemand, at: now)
            let reason = silence ?? stall
            return actions + (reason.map { machine.handle(.stalled(machine.attempt, $0), at: now) } ?? [])
        case .start(let context, let continuation):
            guard starting == nil, machine.phase == .idle else {
                continuation.resume(returning: "The worker is already \(machine.phase.name).")
                return []
            }
            (self.context, starting) = (context, continuation)
            return machine.handle(.start, at: now)
        case .stop(let continuation):
            stopping.append(continuation)
            return machine.handle(.stop, at: now)
        case .launched(let attempt, let process):
            guard attempt == machine.attempt, machine.hasProcess else {
                process.kill()
                return []
            }
            self.process = process
            parts.report.processes.withLock { $0.current = process }
            if killed == attempt { process.kill() }
            return []
        case .connected(let attempt, let session):
            guard attempt == machine.attempt, machine.hasProcess, killed != attempt else {
                session.close()
                return []
            }
            self.session = session
            return []
        case .exited(let attempt, let exit):
            guard attempt == machine.attempt else { return [] }
            callsAtEnd = callsAtEnd ?? parts.calls.counts.running
            self.exit = exit
            session?.close()
            let excess = process?.excess.map { WorkerStateMachine.Event.exceeded(attempt, $0) }
            return machine.handle(excess ?? .exited(attempt, exit.description), at: now)
        }
    }

    private mutating func execute(_ action: WorkerStateMachine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .launch(let attempt): launch(attempt, &group)
        case .open(let attempt):
            guard let session else { return }
            parts.calls.open(session, attempt: attempt)
            parts.log.info(
                "worker is ready",
                [
                    "attempt": .count(attempt), "process": .number(Int64(process?.id ?? 0)),
                    "version": .text(session.greeting.version),
                    "protocol": .count(session.greeting.protocolVersion),
                ])
        case .hold: parts.calls.hold()
        case .refuse(let reason): parts.calls.refuse(reason)
        case .ping(let attempt): ping(attempt, &group)
        case .terminate: terminate(&group)
        case .kill(let attempt):
            killed = attempt
            callsAtEnd = callsAtEnd ?? parts.calls.counts.running
            session?.close()
            process?.kill()
        case .report(let attempt, let reason): report(attempt, reason)
        case .started(let reason):
            let line = process?.lastLines.last.map { " Its last line: \($0)" } ?? ""
            starting?.resume(returning: reason.map { $0 + line })
            starting = nil
        case .stopped:
            parts.calls.refuse("It is stopped.")
            for continuation in stopping { continuation.resume() }
            stopping = []
        }
    }

    private mutating func launch(_ attempt: Int, _ group: inout DiscardingTaskGroup) {
        if let process {
            let spent = process.usage.processorTime
            parts.report.processes.withLock { $0 = (nil, $0.spent + spent) }
        }
        (process, session, exit, callsAtEnd) = (nil, nil, nil, nil)
        launched = (ContinuousClock.now, parts.clock.now())
        stalls = StallDetector(limits: parts.limits)
        guard let context else { return }
        let parts = parts
        group.addTask { await parts.attempt(attempt, context) }
    }

    private func ping(_ attempt: Int, _ group: inout DiscardingTaskGroup) {
        guard let session else { return }
        let signals = parts.signals
        group.addTask {
            // One that fails is followed by the session's end.
            guard (try? await session.ping()) != nil else { return }
            signals.yield(.event(.answered(attempt)))
        }
    }

    private func terminate(_ group: inout DiscardingTaskGroup) {
        guard let process else { return }
        let (session, calls) = (session, parts.calls)
        group.addTask {
            await calls.waitUntilDrained()
            await session?.stop()
            session?.close()
            process.terminate()
        }
    }

    private func report(_ attempt: Int, _ reason: String) {
        let uptime = launched.map { (ContinuousClock.now - $0.instant) / .seconds(1) } ?? 0
        let report = CrashReport(
            time: parts.clock.now().secondsSinceReferenceDate, reason: reason, exit: exit?.description, uptime: uptime,
            // A call may learn of the end before this does, or after it.
            callsUnderWay: max(callsAtEnd ?? 0, parts.calls.interruptedCalls(in: attempt)), attempt: attempt,
            output: process?.lastLines ?? [])
        do { try parts.crashes.add(report) } catch {
            parts.log.warning("crash report cannot be written", ["detail": .text("\(error)")])
        }
        parts.log.error(
            "worker ended",
            [
                "reason": .text(reason), "exit": .text(exit?.description ?? "none"), "attempt": .count(attempt),
                "callsUnderWay": .count(report.callsUnderWay), "state": .text(machine.phase.name),
                "lastLine": .text(report.output.last ?? ""),
            ])
    }

    private func publish() {
        var report = WorkerReport()
        report.state = machine.phase.name
        if case .failed(let reason, _) = machine.phase { report.reason = reason }
        if machine.hasProcess { (report.process, report.launched) = (process?.id, launched?.date) }
        (report.restarts, report.crashes) = (machine.restarts, machine.crashes)
        parts.report.value.withLock { $0 = report }
    }

    private mutating func setTimer() {
        let deadline = machine.deadline
        guard deadline != timer?.1 else { return }
        timer?.0.cancel()
        timer = nil
        guard let deadline else { return }
        let signals = parts.signals
        timer = (
            Task {
                guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
                signals.yield(.event(.time))
            }, deadline
        )
    }
}

extension WorkerSupervisor.Parts {
    /// One process, from its launch to its end.
    fileprivate func attempt(_ attempt: Int, _ context: AdapterContext) async {
        let process: WorkerProcess
        do { process = try await WorkerProcesses.shared.start(program, log: log) } catch {
            return yield(.event(.notLaunched(attempt, "\(error)")))
        }
        yield(.launched(attempt, process))
        await withDiscardingTaskGroup { group in
            group.addTask { await self.session(attempt, process, context) }
            let exit = await process.waitForExit()
            yield(.exited(attempt, exit))
        }
    }

    private func session(_ attempt: Int, _ process: WorkerProcess, _ context: AdapterContext) async {
        do {
            let deadline = ContinuousClock.now.advanced(by: limits.start)
            let session = try await connector.connect(process.socket, deadline: deadline)
            yield(.connected(attempt, session))
            try await session.start(context)
            yield(.event(.ready(attempt)))
            let work = work
            let end = await withTaskGroup(of: Void.self) { group in
                group.addTask { await work.follow(session) }
                defer { group.cancelAll() }
                return await session.waitForEnd()
            }
            // Of one that goes on there is no status to wait for.
            let goesOn = end == .disconnected && process.isExiting == false
            yield(
                .event(.disconnected(attempt, goesOn ? "The worker closed its socket and went on." : Self.fault(end))))
        } catch let ended as WorkerEnded {
            yield(.event(.refused(attempt, Self.fault(ended.end))))
        } catch {
            yield(.event(.refused(attempt, "\(error)")))
        }
    }

    private func yield(_ signal: WorkerSupervisor.Signal) {
        guard case .terminated = signals.yield(signal) else { return }
        if case .launched(_, let process) = signal { process.kill() }
        if case .connected(_, let session) = signal { session.close() }
    }

    /// Nil where the process' own end says more.
    private static func fault(_ end: WorkerEnd) -> String? {
        switch end {
        case .closed, .disconnected: nil
        case .protocolViolation(let reason): "The worker broke the protocol: \(reason)"
        case .handshakeTimeout: "The worker did not answer hello in time."
        case .versionRefused(let reason): reason
        }
    }
}
