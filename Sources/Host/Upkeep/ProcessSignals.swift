import AdapterKit
import Dispatch
import Foundation
import Gateway
import Glibc
import HTTPServer
import Logging
import RecordStorage
import ServiceLifecycle
import Synchronization

/// What `portico serve` does on signals. Whatever an operator or a terminal may send ends it in order or not at all.
///
/// SIGTERM, SIGINT and SIGQUIT stop it. SIGUSR2 stops it as well, and then the program begins anew on the same socket,
/// unless ``RestartCheck`` finds that it could not.
/// SIGHUP takes up a renewed certificate and another configuration. All others are ignored, but for those that cannot be and those of a fault.
/// Handlers run on a queue of their own: a start may keep all other threads busy.
final class ProcessSignals: Sendable {
    enum Request: Sendable {
        case stop
        case restart
        case reload
    }

    private static let requests: [Int32: Request] = [
        SIGTERM: .stop, SIGINT: .stop, SIGQUIT: .stop, SIGUSR2: .restart, SIGHUP: .reload,
    ]
    /// Their default is to end or to suspend the process. SIGXFSZ is an error of the write where it is ignored.
    private static let ignored = [
        SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGXFSZ,
        SIGTSTP, SIGTTIN, SIGTTOU,
    ]

    /// Those that the C library leaves to programs.
    private static var realTime: [Int32] { Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) }

    private struct State {
        var isServing = false
        var isRestartRequested = false
    }

    private let state = Mutex(State())
    let restartCheck = RestartCheck()
    private let sources: [DispatchSource]
    private let received: AsyncStream<Request>
    private let receiver: AsyncStream<Request>.Continuation

    /// The first thing that the process does: from then on no signal ends it otherwise than it should.
    static func prepare() {
        // Nothing has begun that would have to be ended.
        for (number, request) in requests where request == .stop { signal(number) { _ in _exit(0) } }
        for number in realTime + ignored { signal(number, SIG_IGN) }
    }

    init() {
        (received, receiver) = AsyncStream.makeStream()
        let queue = DispatchQueue(label: "signals")
        let signals = Self.requests.compactMap { number, request in
            (DispatchSource.makeSignalSource(signal: number, queue: queue) as? DispatchSource).map { ($0, request) }
        }
        sources = signals.map(\.0)
        for (source, request) in signals {
            source.setEventHandler { [weak self] in self?.receive(request) }
            source.resume()
        }
    }

    /// Whether a new start follows the stop.
    var isRestartRequested: Bool { state.withLock { $0.isRestartRequested } }

    /// To be called before the stop begins.
    func acceptRestart() { state.withLock { $0.isRestartRequested = true } }

    /// From now on a stop drains. Before, it ends the process at once: no client is served yet, and the store takes no harm from
    /// an end at any moment.
    func beginServing() { state.withLock { $0.isServing = true } }

    /// As they arrive. For one reader.
    var requests: AsyncStream<Request> { received }

    private func receive(_ request: Request) {
        if request == .stop {
            guard state.withLock({ $0.isServing }) else { _exit(0) }
            restartCheck.cancel()
        }
        receiver.yield(request)
    }
}

/// Carries out what signals request, and ends when that is the end.
struct SignalService: Service {
    let signals: ProcessSignals
    /// Nil: plain HTTP.
    let certificate: CertificateService?
    let configuration: ConfigurationReload
    let watch: StoreWatch
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                // A reload that waits for an adapter's start holds up no stop.
                let (reloads, reload) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
                group.addTask { for await _ in reloads { await self.reload() } }
                await carryOut { reload.yield() }
                group.cancelAll()
            }
        }
    }

    /// Until the stop.
    private func carryOut(_ reload: () -> Void) async {
        for await request in signals.requests {
            switch request {
            case .stop:
                logger.info("stopping")
                return
            case .reload: reload()
            case .restart:
                guard let problem = await restartProblem() else {
                    logger.info("stopping to restart")
                    return signals.acceptRestart()
                }
                logger.error("not restarted", metadata: ["problem": "\(problem)"])
            }
        }
    }

    private func reload() async {
        certificate?.reload()
        do {
            _ = try await configuration.applyInTurn(by: .system, from: "")
        } catch {
            logger.error("configuration not applied", metadata: ["problem": "\(error)"])
        }
    }

    /// Why the new start would fail; nil: nothing is known.
    private func restartProblem() async -> String? {
        guard await watch.store.probe() != .misplaced else { return "a file of the store is not in its place" }
        return await signals.restartCheck.problem()
    }
}

/// Whether the program could begin anew: `portico check` with the arguments of this process, by the program as it is
/// installed now. A process of its own, because a plugin's library is loaded once only into this one.
final class RestartCheck: Sendable {
    /// Seconds after which the check has failed.
    static let deadline = 60
    /// The most bytes of the check's output that are reported.
    private static let longestProblem = 4 << 10

    private struct State {
        var running: pid_t?
        var isCancelled = false
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "restart check")

    /// What the check says; nil: nothing is wrong.
    func problem() async -> String? {
        await withCheckedContinuation { answer in
            queue.async { answer.resume(returning: self.run()) }
        }
    }

    /// Ends a check under way, and each later one before it begins: the process stops.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let running = state.running { kill(running, SIGKILL) }
        }
    }

    private func run() -> String? {
        let check = Process()
        let errorOutput = Pipe()
        let ended = DispatchSemaphore(value: 0)
        check.executableURL = URL(fileURLWithPath: Listener.program)
        check.arguments = ["check"] + Listener.restartArguments.dropFirst(2)
        check.standardInput = FileHandle.nullDevice
        check.standardOutput = FileHandle.nullDevice
        check.standardError = errorOutput
        check.terminationHandler = { _ in ended.signal() }
        do {
            try state.withLock { state in
                guard !state.isCancelled else { throw CancellationError() }
                try check.run()
                state.running = check.processIdentifier
            }
        } catch {
            return "the check cannot be run: \(FileFailure.sentence(error) ?? "\(error)")"
        }
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { self.state.withLock { state in state.running.map { _ = kill($0, SIGKILL) } } }
        timer.schedule(deadline: .now() + .seconds(Self.deadline))
        timer.resume()
        let words = (try? errorOutput.fileHandleForReading.readToEnd()) ?? Data()
        ended.wait()
        timer.cancel()
        state.withLock { $0.running = nil }
        guard check.terminationReason != .exit || check.terminationStatus != 0 else { return nil }
        let text = String(decoding: words.prefix(Self.longestProblem), as: UTF8.self)
        let problem = text.trimmingCharacters(in: .whitespacesAndNewlines)
        // The command line's word for it, which says nothing beside this.
        let prefix = "Error: "
        let plain = problem.hasPrefix(prefix) ? String(problem.dropFirst(prefix.utf8.count)) : problem
        return plain.isEmpty ? "the check ended without a word" : plain
    }
}

/// The socket at which the gateway listens: its own, or one that it was started with.
struct Listener {
    let socket: ListeningSocket
    /// Whether clients know the socket already.
    let isInherited: Bool

    init(_ settings: HostSettings) throws {
        let inherited = ListeningSocket.inheritedSocket(environment: ProcessInfo.processInfo.environment)
        isInherited = inherited != nil
        socket = try inherited ?? ListeningSocket.open(host: settings.host, port: settings.port)
    }

    /// Throws where an address cannot be listened at, with the setting that names another one.
    static func checkAddresses(_ settings: HostSettings) throws(HostCommandError) {
        if ListeningSocket.inheritedSocket(environment: ProcessInfo.processInfo.environment) == nil {
            try check(settings.host, settings.port, below: "http")
        }
        if let admin = settings.adminListener { try check(admin.host, admin.port, below: "admin") }
    }

    private static func check(_ host: String, _ port: Int, below key: String) throws(HostCommandError) {
        do {
            try ListeningSocket.check(host: host, port: port)
        } catch let failure as ListeningFailure {
            let another =
                failure.isTaken
                ? "Take another port: \(key).port in the configuration, or --set \(key).port=\(free(after: port, host))."
                : "The address is \(key).host, the port \(key).port."
            throw HostCommandError("\(failure) \(another)")
        } catch {
            throw HostCommandError("\(host):\(port) cannot be listened at: \(error). The address is \(key).host.")
        }
    }

    /// A port behind this one that nothing listens at; 0, which takes a free one, where the next hundred are taken.
    private static func free(after port: Int, _ host: String) -> Int {
        (port + 1...port + 100).first { next in
            next <= 65_535 && (try? ListeningSocket.check(host: host, port: next)) != nil
        } ?? 0
    }

    /// As soon as a stop begins, unless a successor wants it.
    func releaseOnShutdown(unless signals: ProcessSignals) -> some Service {
        ListenerRelease(socket: socket, signals: signals)
    }

    /// What begins anew.
    static var program: String {
        CommandLine.arguments[0].contains("/") ? CommandLine.arguments[0] : "/proc/self/exe"
    }

    /// Arguments of the next start. It confirms nothing that was confirmed for this one.
    static var restartArguments: [String] { CommandLine.arguments.filter { $0 != "--accept-store" } }

    /// Becomes the program anew, as it is installed now, on the same socket.
    func handOver() {
        socket.handOver(
            program: Self.program, arguments: Self.restartArguments,
            environment: ProcessInfo.processInfo.environment)
    }
}

private struct ListenerRelease: Service {
    let socket: ListeningSocket
    let signals: ProcessSignals

    func run() async throws {
        try? await gracefulShutdown()
        if !signals.isRestartRequested { socket.release() }
    }
}
