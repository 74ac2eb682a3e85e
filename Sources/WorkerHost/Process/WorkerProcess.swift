import Glibc
import Synchronization

/// The end of a process.
public enum ProcessExit: Sendable, Equatable, CustomStringConvertible {
    case status(Int32)
    case signal(Int32)

    /// Reads the status that wait(2) reports.
    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .status((waitStatus >> 8) & 0xFF) : .signal(signal)
    }

    public var description: String {
        switch self {
        case .status(let status): "exit status \(status)"
        case .signal(let signal): "signal \(signal)" + (Self.names[signal].map { " (\($0))" } ?? "")
        }
    }

    private static let names: [Int32: String] = [
        SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
        SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM",
        SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS", SIGINT: "SIGINT", SIGHUP: "SIGHUP",
    ]
}

/// A worker's process, from its start until it was waited for. ``WorkerProcesses`` starts it and waits for it, so it never
/// stays as a zombie. Safe to use from any task.
public final class WorkerProcess: Sendable {
    private struct State {
        var exit: ProcessExit?
        var waiters: [CheckedContinuation<ProcessExit, Never>] = []
        var lastLines: [String] = []
        var excess: String?
        /// The processor time of its whole life, once it has ended; until then the most that was read.
        var processorTime = Duration.zero
    }

    /// The process' id, which is its group's and its session's.
    public let id: Int32
    /// The host's end of the socket pair. It belongs to the caller who started the process.
    public let socket: Int32
    private let state = Mutex(State())

    init(id: Int32, socket: Int32) {
        self.id = id
        self.socket = socket
    }

    /// The end of the process; nil: it runs.
    public var exit: ProcessExit? { state.withLock { $0.exit } }

    /// The last lines that it wrote, at most 20; complete once it has ended.
    public var lastLines: [String] { state.withLock { $0.lastLines } }

    /// Returns when the process has ended and was waited for, whether the task is cancelled or not: what ends it is
    /// ``kill()``.
    public func waitForExit() async -> ProcessExit {
        await withCheckedContinuation { continuation in
            let exit = state.withLock { state in
                if state.exit == nil { state.waiters.append(continuation) }
                return state.exit
            }
            if let exit { continuation.resume(returning: exit) }
        }
    }

    /// Whether the process is on its way to its end; nil where it has ended, or that cannot be read.
    var isExiting: Bool? { status?.isExiting }

    /// The process's use of the machine. It never goes back, also where it cannot be read.
    var usage: ResourceUsage {
        let status = status
        return state.withLock { state in
            if let status { state.processorTime = max(state.processorTime, status.processorTime) }
            return ResourceUsage(
                residentBytes: state.exit == nil ? status?.residentBytes : nil, processorTime: state.processorTime)
        }
    }

    /// The number of its threads; nil where it has ended, or that cannot be read.
    var threads: UInt64? { status?.threads }

    private var status: ProcessStatus? {
        // Under the lock, as in `signal`.
        state.withLock { state in
            guard state.exit == nil, let file = fopen("/proc/\(id)/stat", "re") else { return nil }
            defer { fclose(file) }
            var line = [UInt8](repeating: 0, count: 1_024)
            return ProcessStatus(line[..<fread(&line, 1, line.count, file)])
        }
    }

    /// Why the host has ended it, where that was for what it took of the machine.
    var excess: String? { state.withLock { $0.excess } }

    /// Ends the process and its group where it has more threads than that.
    func end(above limit: UInt64) {
        guard let threads, threads > limit else { return }
        state.withLock { $0.excess = "The worker had \(threads) threads; its limit is \(limit)." }
        kill()
    }

    /// Asks the process and its group to end.
    public func terminate() { signal(SIGTERM) }

    /// Ends the process and its group.
    public func kill() { signal(SIGKILL) }

    /// Under the lock, so that the id is not another process' by then: it is given back by waiting alone.
    private func signal(_ signal: Int32) {
        state.withLock { state in
            guard state.exit == nil else { return }
            _ = Glibc.kill(-id, signal)
            _ = Glibc.kill(id, signal)
        }
    }

    func wrote(_ lines: [String]) {
        state.withLock { $0.lastLines = lines }
    }

    /// Whether it has ended and was not waited for yet.
    var hasEnded: Bool {
        var found = siginfo_t()
        return waitid(P_PID, id_t(id), &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_signo == SIGCHLD
    }

    /// Waits for the process, which has ended, and ends what is left of its group. False where it runs after all.
    func reap() -> Bool {
        let (exit, waiters): (ProcessExit?, [CheckedContinuation<ProcessExit, Never>]) = state.withLock { state in
            _ = Glibc.kill(-id, SIGKILL)
            var status: Int32 = 0
            var usage = rusage()
            let result = wait4(id, &status, WNOHANG, &usage)
            // Another part of the program has waited for it, where there is no such child.
            guard result == id || (result < 0 && errno == ECHILD) else { return (nil, []) }
            let exit = ProcessExit(waitStatus: result == id ? status : 0)
            state.exit = exit
            if result == id { state.processorTime = max(state.processorTime, usage.processorTime) }
            defer { state.waiters = [] }
            return (exit, state.waiters)
        }
        guard let exit else { return false }
        for waiter in waiters { waiter.resume(returning: exit) }
        return true
    }
}

/// A worker's use of the machine.
public struct ResourceUsage: Sendable, Equatable {
    /// Resident memory; nil: there is no process.
    public var residentBytes: UInt64?
    /// The time of user and system, of processes that have ended too.
    public var processorTime = Duration.zero
}

extension rusage {
    fileprivate var processorTime: Duration {
        .seconds(Int64(ru_utime.tv_sec) + Int64(ru_stime.tv_sec))
            + .microseconds(Int64(ru_utime.tv_usec) + Int64(ru_stime.tv_usec))
    }
}

/// The status of a process in a line of `/proc/PID/stat`. Source: proc_pid_stat(5), include/linux/sched.h.
struct ProcessStatus: Equatable {
    private static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    private static let pageBytes = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))

    /// All its threads are on their way to their end where its first one is, and its descriptors are closed (`PF_EXITING`).
    let isExiting: Bool
    let threads: UInt64
    /// The time of user and system.
    let processorTime: Duration
    let residentBytes: UInt64

    /// Nil where it is no such line.
    init?(_ line: ArraySlice<UInt8>) {
        // A program gives itself the name in parentheses, so the last one ends it.
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[(end + 1)...].split(separator: UInt8(ascii: " "))
        func number(_ index: Int) -> UInt64? {
            fields.indices.contains(index) ? UInt64(String(decoding: fields[index], as: UTF8.self)) : nil
        }
        // The first field here is the third one of the line.
        guard let flags = number(6), let user = number(11), let system = number(12), let threads = number(17),
            let pages = number(21)
        else { return nil }
        isExiting = flags & 0x4 != 0
        self.threads = threads
        processorTime = .seconds((Double(user) + Double(system)) / Self.ticksPerSecond)
        residentBytes = pages.multipliedReportingOverflow(by: Self.pageBytes).partialValue
    }
}
