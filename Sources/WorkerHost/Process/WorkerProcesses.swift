import AdapterKit
import CWorkerProcess
import Glibc
import Synchronization

/// Starts workers, reads what they write and waits for their end, for the whole process, on one thread.
///
/// The thread lives as long as the process: the kernel sends a worker its parent-death signal when the thread that started
/// it ends. Safe to use from any task.
public final class WorkerProcesses: Sendable {
    /// The one of this process.
    public static let shared = WorkerProcesses()

    fileprivate struct Start: Sendable {
        let program: WorkerProgram
        let log: Log
        let continuation: CheckedContinuation<Result<WorkerProcess, PorticoError>, Never>
    }

    fileprivate let wake: Int32
    private let starts = Mutex<[Start]>([])
    private let hasThread: Bool

    private init() {
        wake = portico_eventfd()
        var thread = pthread_t()
        hasThread = wake >= 0 && pthread_create(&thread, nil, { _ in WorkerLoop(.shared).run() }, nil) == 0
        if hasThread { pthread_detach(thread) }
    }

    /// Starts a worker. What it writes to standard output and error goes to `log`, line by line.
    ///
    /// Throws `adapter.unavailable` where its folder cannot be made or the launcher cannot be started. What the launcher
    /// refuses shows as the end of the process, and as a line of its output.
    public func start(_ program: WorkerProgram, log: Log) async throws(PorticoError) -> WorkerProcess {
        guard hasThread else {
            throw PorticoError(.adapterUnavailable, "The adapter's program cannot be started.", logDetail: "no thread")
        }
        let result = await withCheckedContinuation { continuation in
            starts.withLock { $0.append(Start(program: program, log: log, continuation: continuation)) }
            var one: UInt64 = 1
            _ = write(wake, &one, MemoryLayout<UInt64>.size)
        }
        return try result.get()
    }

    fileprivate func takeStarts() -> [Start] {
        starts.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}

/// The thread's loop. Nothing but that thread touches it.
private final class WorkerLoop {
    private let owner: WorkerProcesses
    private var watched: [WatchedWorker] = []
    /// When the workers' threads are counted next.
    private var nextCount = ContinuousClock.now

    private static let countInterval = Duration.seconds(1)

    init(_ owner: WorkerProcesses) {
        self.owner = owner
    }

    func run() -> Never {
        while true {
            var (table, timeout) = pollTable()
            // It fails for lack of memory at most; the worker's ends are looked for all the same.
            if poll(&table, nfds_t(table.count), timeout) < 0, errno != EINTR { usleep(10_000) }
            var count: UInt64 = 0
            while read(owner.wake, &count, MemoryLayout<UInt64>.size) > 0 {}
            let now = ContinuousClock.now
            for worker in watched { worker.readOutput(now) }
            if now >= nextCount {
                for worker in watched { worker.process.end(above: worker.threads) }
                nextCount = now.advanced(by: Self.countInterval)
            }
            watched.removeAll { $0.hasEnded() }
            for start in owner.takeStarts() { start.continuation.resume(returning: launch(start)) }
        }
    }

    private func pollTable() -> ([pollfd], timeout: Int32) {
        var table = [pollfd(fd: owner.wake, events: Int16(POLLIN), revents: 0)]
        var timeout: Int32 = -1
        func look(within milliseconds: Int32) { timeout = timeout < 0 ? milliseconds : min(timeout, milliseconds) }
        if !watched.isEmpty {
            look(within: Int32(clamping: Int(max(0, (nextCount - .now) / .milliseconds(1)))) + 1)
        }
        for worker in watched {
            if worker.exit >= 0 {
                table.append(pollfd(fd: worker.exit, events: Int16(POLLIN), revents: 0))
            } else {
                look(within: 50)
            }
            guard worker.output >= 0 else { continue }
            if let pause = worker.lines.pause(at: ContinuousClock.now) {
                let wait = (pause - ContinuousClock.now) / .milliseconds(1)
                look(within: Int32(clamping: Int(max(1, min(wait, 1_000)))))
            } else {
                table.append(pollfd(fd: worker.output, events: Int16(POLLIN), revents: 0))
            }
        }
        return (table, timeout)
    }

    private func launch(_ start: WorkerProcesses.Start) -> Result<WorkerProcess, PorticoError> {
        do {
            let worker = try WatchedWorker(start.program, log: start.log)
            watched.append(worker)
            return .success(worker.process)
        } catch {
            return .failure(error)
        }
    }
}

/// A process that was started and not yet waited for.
private final class WatchedWorker {
    let process: WorkerProcess
    /// Readable when the process has ended; -1 before Linux 5.3, where its end is looked for from time to time.
    let exit: Int32
    /// -1: the worker has closed it.
    private(set) var output: Int32
    private(set) var lines = OutputLines()
    /// The threads that it may have.
    let threads: UInt64
    private let log: Log
    private var buffer = [UInt8](repeating: 0, count: WatchedWorker.pipeBytes)

    private static let pipeBytes = 65_536

    init(_ program: WorkerProgram, log: Log) throws(PorticoError) {
        let parts = program.folder.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        for count in stride(from: 1, through: parts.count, by: 1) {
            let folder = "/" + parts.prefix(count).joined(separator: "/")
            guard mkdir(folder, 0o700) != 0, errno != EEXIST, count == parts.count else { continue }
            throw Self.failure("folder \(folder)")
        }
        var pair: [Int32] = [-1, -1]
        var pipe: [Int32] = [-1, -1]
        defer { for descriptor in [pair[1], pipe[1]] where descriptor >= 0 { close(descriptor) } }
        let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, stream, 0, &pair) == 0 else { throw Self.failure("socketpair") }
        guard portico_output_pipe(&pipe) == 0 else {
            defer { close(pair[0]) }
            throw Self.failure("pipe")
        }
        do {
            let id = try Self.spawn(program, socket: pair[1], output: pipe[1])
            process = WorkerProcess(id: id, socket: pair[0])
        } catch {
            close(pair[0])
            close(pipe[0])
            throw error
        }
        threads = program.limits.threads
        output = pipe[0]
        exit = portico_pidfd_open(process.id)
        self.log = log
    }

    /// Reads what is there, at most as much as a pipe holds.
    func readOutput(_ now: ContinuousClock.Instant) {
        guard output >= 0, lines.pause(at: now) == nil else { return }
        let count = read(output, &buffer, buffer.count)
        if count > 0 {
            pass(on: buffer.withUnsafeBytes { lines.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), at: now) })
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            close(output)
            output = -1
        }
    }

    /// Whether it has ended; it was waited for then, and what it had written was read.
    func hasEnded() -> Bool {
        var end = pollfd(fd: exit, events: Int16(POLLIN), revents: 0)
        guard exit >= 0 ? poll(&end, 1, 0) != 0 : process.hasEnded else { return false }
        readOutput(ContinuousClock.now)
        pass(on: lines.finish())
        process.wrote(lines.last)
        guard process.reap() else { return false }
        for descriptor in [exit, output] where descriptor >= 0 { close(descriptor) }
        output = -1
        return true
    }

    private func pass(on events: [OutputLines.Event]) {
        for event in events {
            switch event {
            // What the launcher says is about the sandbox, or why there is no worker.
            case .line(let text) where text.hasPrefix("portico-worker-launcher: "):
                log.warning("launcher of the worker wrote", ["line": .text(text)])
            case .line(let text): log.info("worker wrote", ["line": .text(text)])
            case .omitted(let count): log.warning("worker writes too much", ["omittedLines": .count(count)])
            }
        }
    }

    /// Returns the process' id.
    private static func spawn(_ program: WorkerProgram, socket: Int32, output: Int32) throws(PorticoError) -> Int32 {
        let arguments = program.launcherArguments(host: getpid())
        let environment = program.workerEnvironment(timeZone: getenv("TZ").map { String(cString: $0) })
        guard !(arguments + environment).contains(where: { $0.utf8.contains(0) }) else {
            errno = EINVAL
            throw failure("arguments")
        }
        // The child's descriptors 0 to 3 are copies; the originals must not be among them.
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let sources = [input, output, socket].map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        defer { for descriptor in sources + [input] where descriptor >= 0 { close(descriptor) } }
        guard sources.allSatisfy({ $0 >= 0 }) else { throw failure("descriptors") }
        var id: Int32 = 0
        let result = withTexts(arguments) { arguments in
            withTexts(environment) { environment in
                portico_worker_spawn(
                    &id, program.launcher, arguments, environment, sources[0], sources[1], sources[2])
            }
        }
        guard result == 0 else {
            errno = result
            throw failure(program.launcher)
        }
        return id
    }

    private static func withTexts<Result>(
        _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var copies = texts.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeMutableBufferPointer { buffer in
            // Cannot trap: the array has the closing null at least.
            body(buffer.baseAddress!)
        }
    }

    private static func failure(_ what: String) -> PorticoError {
        PorticoError(
            .adapterUnavailable, "The adapter's program cannot be started.", retryAfter: 5,
            logDetail: "\(what): \(String(cString: strerror(errno)))")
    }
}
