import AdapterKit

/// An adapter whose calls a process of its own answers, which the host launches and watches.
public protocol ProcessAdapter: Adapter {
    /// The state of the process. Read with each scrape of the metrics and by operators; waits for nothing.
    var processReport: AdapterProcessReport { get }
    /// Its processes' use of the machine. Asks the kernel, so it is for scrapes and not for calls.
    var processUsage: AdapterProcessUsage { get }
    /// Reports of its last ends that were not asked for, the latest first.
    var crashReports: [WireValue] { get }
}

/// An adapter of another process that has error responses in shapes of its own, for which the gateway has to wait.
public protocol RemoteErrorShapes: Adapter {
    /// Whether it has them below this mount.
    func shapesErrors(of mount: OperationName) -> Bool
    /// As ``Adapter/errorResponse(for:status:to:)``; nil also where the process does not answer soon.
    func shapedError(_ error: PorticoError, status: Int, to failure: MountFailure) async -> MountResponse?
}

/// An adapter's process as operators see it.
public struct AdapterProcessReport: Sendable, Equatable {
    /// A word such as `running`, `waiting` or `failed`.
    public var state: String
    /// Why it has failed.
    public var reason: String?
    /// Whether calls go to it, or wait a little for it.
    public var isServing: Bool
    /// The id of the process; nil: there is none.
    public var process: Int32?
    /// When the process was started; nil: there is none.
    public var launched: WireDate?
    /// Launches after the first that succeeded.
    public var restarts: Int
    /// Ends that were not asked for.
    public var crashes: Int
    /// Calls that it has.
    public var callsUnderWay: Int
    /// Calls that wait for it.
    public var callsWaiting: Int
    /// The version of the adapter protocol that it speaks; nil: it has not said so yet.
    public var protocolVersion: Int?

    /// Creates a report with these values.
    public init(
        state: String, reason: String?, isServing: Bool, process: Int32?, launched: WireDate?, restarts: Int,
        crashes: Int, callsUnderWay: Int, callsWaiting: Int, protocolVersion: Int? = nil
    ) {
        self.state = state
        self.reason = reason
        self.isServing = isServing
        self.process = process
        self.launched = launched
        self.restarts = restarts
        self.crashes = crashes
        self.callsUnderWay = callsUnderWay
        self.callsWaiting = callsWaiting
        self.protocolVersion = protocolVersion
    }
}

/// The use of the machine by an adapter's processes.
public struct AdapterProcessUsage: Sendable, Equatable {
    /// Resident memory; nil: there is no process.
    public var residentBytes: UInt64?
    /// The time of user and system, of processes that have ended too.
    public var processorTime: Duration

    /// Creates the value.
    public init(residentBytes: UInt64?, processorTime: Duration) {
        self.residentBytes = residentBytes
        self.processorTime = processorTime
    }
}

extension ServedAdapter {
    /// Nil: it runs in the gateway's process.
    var process: (any ProcessAdapter)? { adapter as? any ProcessAdapter }

    /// Whether it has started, is not disabled, and its process serves where it has one.
    var isServing: Bool { status.isRunning && process?.processReport.isServing ?? true }

    /// Whether it would serve if no operator had disabled it.
    var isUp: Bool { status.current.phase == .running && process?.processReport.isServing ?? true }

    /// As operators read it: the process' state where that is what keeps it from serving.
    var stateWord: String {
        guard status.isRunning, let report = process?.processReport else { return status.word }
        return report.state
    }
}
