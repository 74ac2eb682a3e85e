import AdapterKit
import AdapterProtocol
import Admission
import FoundationEssentials

/// An adapter whose calls are answered by a program, which is launched, watched and launched again.
///
/// While the program restarts, calls wait for it, as ``CallLimits`` says. A call that the program's end interrupted is sent
/// once more where it only reads; others throw `adapter.unavailable`, or `upstream.outcomeUnknown` where a repetition by the
/// caller could do it twice. Safe to use from any task.
public final class WorkerAdapter: RuleAnswering {
    private let name: AdapterName
    private let calls: WorkerCalls
    private let supervisor: WorkerSupervisor
    private let work: WorkBesideCalls
    private let reports: CrashReports
    private let repeatable: Set<OperationName>
    private let idempotent: Set<OperationName>
    private let samples: [SampleRecords]
    private let lastDeclaration: (value: LastDeclaration, file: String)?
    private let folder: String
    private let log: Log
    private let shapedErrors: Set<OperationName>
    /// The version of the protocol that its program speaks, as far as that is known.
    public let protocolVersion: Int?
    /// As the declaration names them; the operations of the session that there is do the work.
    public let serviceOperations: [any ServiceOperations]

    /// - Parameters:
    ///   - connector: makes a session of each process' socket.
    ///   - declaration: what the adapter declares: operations that read and are idempotent are sent once more.
    ///   - serviceOperations: the names of each of the adapter's ``ServiceOperations``, in their order.
    ///   - samples: records to show the adapter with, as it declares them.
    ///   - shapedErrors: the mounts whose errors it answers in a shape of its own.
    ///   - worksBesideCalls: whether it takes `activate` and `drain`.
    ///   - protocolVersion: the version of the protocol that its program speaks; nil: not known.
    ///   - crashFile: where the last crash reports are kept, not in the program's own folder; nil: in memory.
    ///   - kept: where the declaration is kept once the program has started (``LastDeclaration``), not in the program's own
    ///     folder, and what it is found by; nil: nowhere.
    ///   - log: gets what the program writes, and what happens to it.
    public init(
        _ program: WorkerProgram, connector: any WorkerConnecting, declaration: AdapterDeclaration,
        serviceOperations: [Set<String>] = [], samples: [SampleRecords] = [],
        shapedErrors: Set<OperationName> = [], worksBesideCalls: Bool = false, protocolVersion: Int? = nil,
        limits: SupervisionLimits = SupervisionLimits(),
        callLimits: CallLimits = CallLimits(), crashFile: String?, kept: (file: String, program: String)? = nil,
        clock: any WallClock, log: Log
    ) {
        let calls = WorkerCalls(limits: callLimits)
        name = declaration.name
        self.calls = calls
        self.samples = samples
        lastDeclaration = kept.map {
            (LastDeclaration(program: $0.program, declaration: declaration), $0.file)
        }
        (folder, self.log) = (program.folder, log)
        self.shapedErrors = shapedErrors
        self.protocolVersion = protocolVersion
        reports = CrashReports(path: crashFile)
        work = WorkBesideCalls(isTaken: worksBesideCalls)
        supervisor = WorkerSupervisor(
            program, connector: connector, calls: calls, limits: limits, work: work, crashes: reports, clock: clock,
            log: log)
        repeatable = Set(declaration.operations.filter { $0.effect == .reads && $0.isIdempotent }.map(\.name))
        idempotent = Set(declaration.operations.filter(\.isIdempotent).map(\.name))
        self.serviceOperations = serviceOperations.enumerated().map {
            SupervisedServiceOperations(position: $0.offset, names: $0.element, calls: calls)
        }
    }

    /// The state of the program, for operators.
    public var report: WorkerReport { supervisor.report }

    /// Its processes' use of the machine. Reads a file of the kernel.
    public var resourceUsage: ResourceUsage { supervisor.resourceUsage }

    /// The last crashes, the oldest first.
    public var crashes: [CrashReport] { reports.all }

    /// Calls that the program has, and calls that wait for it.
    public var callCounts: (inFlight: Int, queued: Int) { (calls.counts.running, calls.counts.waiting) }

    /// Launches the program anew, once the calls under way have ended.
    public func restart() { supervisor.restart() }

    public func start(_ context: AdapterContext) async throws {
        try await supervisor.start(context)
        guard let lastDeclaration else { return }
        do { try lastDeclaration.value.write(to: lastDeclaration.file) } catch {
            log.warning("declaration cannot be kept", ["detail": .text("\(error)")])
        }
    }

    public func activate() { work.begin() }

    public func drain() async { await work.end() }

    /// The program's folder is removed, too: it belongs to this instance.
    public func stop() async {
        await supervisor.stop()
        await FolderRemover.remove(folder, log: log)
    }

    public func handle(_ call: Call) async throws -> OperationResult {
        try await perform(
            isRepeatable: repeatable.contains(call.operation), isIdempotent: idempotent.contains(call.operation),
            deadline: call.deadline
        ) { try await $0.handle(call) }
    }

    public func handle(_ request: MountRequest) async throws -> MountResponse {
        try await perform(
            isRepeatable: request.method == "GET", isIdempotent: Self.idempotentMethods.contains(request.method),
            deadline: request.deadline
        ) { try await $0.handle(request) }
    }

    /// Whether the program answers the errors of this mount in a shape of its own.
    public func shapesErrors(of mount: OperationName) -> Bool { shapedErrors.contains(mount) }

    /// As ``errorResponse(for:status:to:)``, from the program; nil where it is not there, or does not answer in time.
    public func shapedError(_ error: PorticoError, status: Int, to failure: MountFailure) async -> MountResponse? {
        await soon { try await $0.shapedError(error, status: status, to: failure) } ?? nil
    }

    /// An answer that can be done without: nil where the program is not there, fails, or does not answer at once.
    private func soon<Answer: Sendable>(
        _ body: @escaping @Sendable (any WorkerSession) async throws -> Answer
    ) async -> Answer? {
        guard let session = calls.latest else { return nil }
        return await withTaskGroup(of: Answer?.self) { group in
            group.addTask { try? await body(session) }
            group.addTask {
                try? await Task.sleep(for: Self.shortPatience)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// A caller waits who has failed already, or for a page of all adapters.
    private static let shortPatience = Duration.seconds(1)

    public func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        try await perform(isRepeatable: true) { try await $0.resolve(conflict) }
    }

    public func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        try await perform(isRepeatable: true) { try await $0.readMirror(request) }
    }

    /// A change that the program may have made is one whose outcome is unknown: ``WorkerEnded`` says so to
    /// ``MirrorWriteResult/init(_:)``, where `adapter.unavailable` would say that it was not made.
    public func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        do {
            return try await calls.perform(isRepeatable: change.mayRepeat) { try await $0.writeMirror(change) }
        } catch let ended as WorkerEnded where !ended.wasSent {
            throw ended.asError
        }
    }

    public func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        try await perform(isRepeatable: true) { try await $0.readMirror(entity, id) }
    }

    /// The first ``FrontPageLimits/entries``, of limited length: they are in the page of every visitor. None where the program
    /// does not answer at once.
    public func frontPageEntries() async throws -> [FrontPageEntry] {
        FrontPageLimits.applied(to: await soon { try await $0.frontPageEntries() } ?? [])
    }

    /// RFC 9110, section 9.2.2.
    private static let idempotentMethods: Set<String> = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]

    public func sampleRecords() -> [SampleRecords] { samples }

    /// A change that a call of the worker makes is judged by the same process, also while that gets no other calls because
    /// it is about to be replaced.
    public func answer(_ question: RuleQuestion) async throws -> WireValue {
        if let session = WorkerConnection.asking, session.greeting.name == name {
            do { return try await session.answer(question) } catch let ended as WorkerEnded { throw ended.asError }
        }
        return try await perform(isRepeatable: true, deadline: CallContext.current?.deadline) {
            try await $0.answer(question)
        }
    }

    private func perform<Result: Sendable>(
        isRepeatable: Bool, isIdempotent: Bool = true, deadline: ContinuousClock.Instant? = nil,
        _ body: (any WorkerSession) async throws -> Result
    ) async throws -> Result {
        do { return try await calls.perform(isRepeatable: isRepeatable, deadline: deadline, body) } catch let ended
            as WorkerEnded
        { throw isIdempotent ? ended.asError : ended.asErrorOfAChange }
    }
}

/// The operations that the session of now has at the same position.
private struct SupervisedServiceOperations: ServiceOperations {
    let position: Int
    let names: Set<String>
    let calls: WorkerCalls

    func perform(_ call: ServiceCall) async throws -> ServiceResult {
        do {
            return try await calls.perform(isRepeatable: false) { session in
                let all = session.serviceOperations
                guard all.indices.contains(position) else {
                    throw PorticoError(.adapterUnavailable, "The adapter does not answer this operation.")
                }
                return try await all[position].perform(call)
            }
        } catch let ended as WorkerEnded { throw ended.asErrorOfAChange }
    }
}

/// Limits of a program's entries on the gateway's front page.
enum FrontPageLimits {
    static let entries = 50
    /// Bytes of a title, a summary or a path.
    static let textBytes = 500

    static func applied(to entries: [FrontPageEntry]) -> [FrontPageEntry] {
        entries.prefix(Self.entries).filter { $0.path.utf8.count <= textBytes }.map {
            FrontPageEntry(
                title: $0.title.cut(toBytes: textBytes), path: $0.path, summary: $0.summary.cut(toBytes: textBytes))
        }
    }
}
