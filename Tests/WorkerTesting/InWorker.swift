import AdapterKit
import AdapterProtocol
import AdapterWorker
import Glibc
import Synchronization
import WorkerHost

/// Where a tested adapter runs.
public enum Mode: CaseIterable, Sendable {
    case inProcess, worker

    /// The module as it runs there.
    public func module<Module: AdapterModule>(_ module: Module.Type) -> any AdapterModule.Type {
        self == .worker ? InWorker<Module>.self : module
    }
}

/// A module that runs in a worker of this process: the same code behind a socket pair.
public enum InWorker<Module: AdapterModule>: AdapterModule {
    public static var name: AdapterName { Module.name }
    public static var options: [ConfigurationOption] { Module.options }

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        var encoder = CBOREncoder()
        try encoder.append(try Module.declare(configuration).message)
        return try AdapterDeclaration(message: try CBORDecoder.value(of: encoder.bytes))
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        SocketPairAdapter(Module.self, configuration, try Module.make(configuration).sampleRecords())
    }
}

/// An adapter whose worker begins with its start.
final class SocketPairAdapter: Adapter {
    private let module: any AdapterModule.Type
    private let configuration: AdapterConfiguration
    private let samples: [SampleRecords]
    private let pair = Mutex<WorkerPair?>(nil)

    init(_ module: any AdapterModule.Type, _ configuration: AdapterConfiguration, _ samples: [SampleRecords]) {
        self.module = module
        self.configuration = configuration
        self.samples = samples
    }

    deinit { pair.withLock { $0 }?.session.close() }

    private var session: any WorkerSession {
        get throws {
            guard let pair = pair.withLock({ $0 }) else { throw WorkerEnded(.closed, wasSent: false) }
            return pair.session
        }
    }

    func start(_ context: AdapterContext) async throws {
        let made = try await WorkerPair(module, configuration)
        pair.withLock { $0 = made }
        try await made.session.start(context)
    }

    func handle(_ call: Call) async throws -> OperationResult { try await session.handle(call) }
    func handle(_ request: MountRequest) async throws -> MountResponse { try await session.handle(request) }
    func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        try await session.resolve(conflict)
    }
    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage { try await session.readMirror(request) }
    func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        try await session.writeMirror(change)
    }
    func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        try await session.readMirror(entity, id)
    }
    var serviceOperations: [any ServiceOperations] { (try? session.serviceOperations) ?? [] }
    func frontPageEntries() async throws -> [FrontPageEntry] { try await session.frontPageEntries() }
    func sampleRecords() throws -> [SampleRecords] { samples }
    func stop() async {
        guard let session = try? session else { return }
        await session.stop()
        session.close()
    }
}

/// A worker of this process and the host's session with it.
public struct WorkerPair: Sendable {
    public let session: WorkerConnection
    let runtime: WorkerRuntime

    public init(
        _ module: any AdapterModule.Type, _ configuration: AdapterConfiguration?,
        limits: SessionLimits = .unhurried, log: @escaping Log.Sink = { _ in }
    ) async throws {
        let ends = socketPair()
        runtime = WorkerRuntime(module, version: "1.2.3", socket: ends.worker) {}
        runtime.start()
        session = try await WorkerConnector(
            configuration: configuration, scratch: "/tmp", limits: limits, log: log
        ).open(ends.host, deadline: .now + .seconds(600))
    }
}

extension SessionLimits {
    /// For machines that are busy with other tests.
    public static var unhurried: SessionLimits {
        var limits = SessionLimits()
        limits.snapshotTime = .seconds(600)
        return limits
    }
}

/// Two sockets of one connection; whoever gets one closes it.
public func socketPair() -> (host: Int32, worker: Int32) {
    var ends: [Int32] = [0, 0]
    // Cannot fail before the process has no descriptors left.
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
}
