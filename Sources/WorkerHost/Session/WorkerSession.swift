import AdapterKit

/// One worker process, seen through its socket, from the handshake to the end of the connection.
///
/// All of ``Adapter``'s calls go to this process. Once the connection has ended they throw ``WorkerEnded``. Safe to use
/// from any task.
public protocol WorkerSession: RuleAnswering {
    /// The worker's words about itself when it was greeted.
    var greeting: WorkerGreeting { get }

    /// Returns when the worker's reader has answered, whatever its calls do. Throws ``WorkerEnded``.
    func ping() async throws

    /// The number of messages that have come from the worker so far: responses, requests, events and pieces of bodies, but for answers to
    /// ``ping()``. Nothing comes of one whose calls all hang.
    var received: Int { get }

    /// Has what the worker does beside its calls begin, or end, and returns when it has. For one that takes that.
    func switchWork(on isOn: Bool) async throws

    /// Returns when the connection has ended, and says why.
    func waitForEnd() async -> WorkerEnd

    /// As ``Adapter/errorResponse(for:status:to:)``, which cannot wait.
    func shapedError(_ error: PorticoError, status: Int, to failure: MountFailure) async throws -> MountResponse?

    /// Ends the connection and every call under way. May be called twice, and from any thread.
    func close()
}

extension WorkerSession {
    /// For sessions whose adapters do nothing beside their calls.
    public func switchWork(on isOn: Bool) async throws {}

    /// For sessions whose adapters shape no errors.
    public func shapedError(
        _ error: PorticoError, status: Int, to failure: MountFailure
    ) async throws -> MountResponse? { nil }

    /// For sessions whose adapters have no rules.
    public func answer(_ question: RuleQuestion) async throws -> WireValue {
        throw PorticoError(.adapterUnavailable, "This adapter has no rules.")
    }
}

/// Takes over one end of a socket pair and shakes hands.
public protocol WorkerConnecting: Sendable {
    /// The session over `socket`, which belongs to it from now on: it is closed where this throws, too.
    ///
    /// Throws ``WorkerEnded`` where the worker has not answered by `deadline`, speaks another version of the protocol, or
    /// ends the connection.
    func connect(_ socket: Int32, deadline: ContinuousClock.Instant) async throws -> any WorkerSession
}

/// A worker's words about itself in its first message.
public struct WorkerGreeting: Sendable, Equatable {
    /// The adapter's name: the key of its configuration.
    public let name: AdapterName
    /// The version of the adapter's program, for operators.
    public let version: String
    /// The version of the protocol that both sides speak.
    public let protocolVersion: Int
    /// The library that the worker was built with, for operators: `AdapterWorker 1.0`.
    public let sdk: String

    /// Creates a greeting with these values.
    public init(name: AdapterName, version: String, protocolVersion: Int, sdk: String) {
        self.name = name
        self.version = version
        self.protocolVersion = protocolVersion
        self.sdk = sdk
    }
}

/// Why a connection to a worker has ended.
public enum WorkerEnd: Sendable, Equatable {
    /// The host closed it.
    case closed
    /// The worker's process ended or closed its socket.
    case disconnected
    /// The worker sent what the protocol does not allow. The reason is for operators.
    case protocolViolation(String)
    /// The worker did not answer the handshake in time.
    case handshakeTimeout
    /// The worker speaks no version of the protocol that this host does. The reason is for operators.
    case versionRefused(String)
}

/// The connection to a worker ended before a call was answered.
public struct WorkerEnded: Error, Sendable, Equatable {
    /// Why the connection ended.
    public let end: WorkerEnd
    /// Whether the call had been sent, so that the worker may have done what it asks for.
    public let wasSent: Bool

    /// Creates an error with these values.
    public init(_ end: WorkerEnd, wasSent: Bool) {
        self.end = end
        self.wasSent = wasSent
    }

    /// As callers learn of it.
    public var asError: PorticoError {
        PorticoError(.adapterUnavailable, "The adapter is not available.", retryAfter: 1, logDetail: "worker: \(end)")
    }

    /// As callers learn of it whose call, made twice, could have two effects.
    var asErrorOfAChange: PorticoError {
        guard wasSent else { return asError }
        return PorticoError(
            .upstreamOutcomeUnknown, "The adapter's program ended during the call: it is unknown whether it was made.",
            logDetail: "worker: \(end)")
    }
}
