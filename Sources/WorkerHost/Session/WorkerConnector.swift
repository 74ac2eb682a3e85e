import AdapterKit
import AdapterProtocol

/// Limits of what one worker may use of the host.
public struct SessionLimits: Sendable {
    /// Frames, requests, streams and queues of the connection.
    public var connection: ConnectionLimits = {
        var limits = ConnectionLimits()
        limits.requestMemory = 64 << 20
        return limits
    }()
    /// Requests of the worker to the store and the accounts that are served at once. Further ones wait.
    public var requests = 32
    /// The longest time of such a request; those in the course of a call at least until the call's deadline.
    public var requestTime = Duration.seconds(30)
    /// Changes of one `apply`: they keep all other writes waiting. An operator's call, an import for instance, may make more.
    public var changes = 10_000
    /// Changes that are under way at once, beyond one `apply`. Further ones wait.
    public var changesAtOnce = 20_000
    /// Requests for records as they are created, each of which every change wakes, and notes to devices at once; further ones are
    /// refused.
    public var polls = 64
    public var pushes = 256
    /// Its adapter's share of the snapshots that all workers have open at once. Further ones wait.
    public var snapshots = SnapshotPermits(store: 8).share(of: "worker")
    /// The time that a snapshot may be open which is read at once; one whose reads are streamed says itself how long.
    public var snapshotTime = Duration.seconds(5)
    /// Bytes of a body for another system that is held as a whole.
    public var body = 64 << 20
    /// Bytes of all such bodies, and of such answers that the worker has not read yet. With so many, further ones are refused.
    public var heldBodies = 128 << 20
    /// Requests to its mounts at once, the bodies of their answers included; further ones are refused with 503. Fewer than a
    /// connection has streams (``ConnectionLimits/streams``).
    public var mounts = 768

    /// The standard limits.
    public init() {}
}

/// The offer of a worker's adapter with one configuration.
public struct WorkerDescription: Sendable {
    /// The adapter's declaration.
    public let declaration: AdapterDeclaration
    /// The names of each of its ``Adapter/serviceOperations``.
    public let services: [Set<String>]
    /// Records to show it with.
    public let samples: [SampleRecords]
    /// The mounts whose errors it answers in a shape of its own.
    public let shapedErrors: Set<OperationName>
    /// Whether what it does beside its calls begins and ends when it is asked to.
    public let worksBesideCalls: Bool
    /// The version of the protocol that the program speaks.
    public let protocolVersion: Int
}

/// An adapter that cannot run as a worker, and why. For operators.
public struct WorkerRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence.
    public let description: String

    /// Creates a refusal with this reason.
    public init(_ description: String) { self.description = description }
}

/// Shakes hands with workers of one adapter.
public struct WorkerConnector: WorkerConnecting {
    private let configuration: AdapterConfiguration?
    private let scratch: String?
    private let limits: SessionLimits
    private let log: Log.Sink

    /// `configuration`: what the adapter is made with; nil: it is not made, for a session that asks for a description alone.
    /// `scratch`: the folder for the adapter's files, which the worker may write. `log` gets what the adapter logs.
    public init(
        configuration: AdapterConfiguration?, scratch: String? = nil, limits: SessionLimits = SessionLimits(),
        log: @escaping Log.Sink
    ) {
        self.configuration = configuration
        self.scratch = scratch
        self.limits = limits
        self.log = log
    }

    public func connect(_ socket: Int32, deadline: ContinuousClock.Instant) async throws -> any WorkerSession {
        try await open(socket, deadline: deadline)
    }

    /// As ``connect(_:deadline:)``.
    public func open(_ socket: Int32, deadline: ContinuousClock.Instant) async throws -> WorkerConnection {
        let worker = WorkerConnection(socket, limits: limits, log: log)
        let configuration = configuration
        return try await withThrowingTaskGroup(of: WorkerConnection?.self) { group in
            group.addTask {
                try await worker.shakeHands()
                if let configuration { try await worker.make(configuration, scratch: scratch) }
                return worker
            }
            group.addTask {
                try await Task.sleep(until: deadline)
                return nil
            }
            defer { group.cancelAll() }
            do {
                if let ready = try await group.next() ?? nil { return ready }
                throw WorkerEnded(.handshakeTimeout, wasSent: true)
            } catch {
                worker.close()
                throw error
            }
        }
    }
}
