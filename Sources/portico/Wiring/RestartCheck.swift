import Dispatch
import Foundation
import Glibc
import Synchronization

/// Whether the program could begin anew: `portico check` with the arguments of this process, by the program as it is
/// installed now. A process of its own, because a plugin's library is loaded once only into this one.
final class RestartCheck: Sendable {
    /// Seconds after which the check has failed.
    static let deadline = 60
    /// Bytes of what the check says that are told.
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
        let said = Pipe()
        let ended = DispatchSemaphore(value: 0)
        check.executableURL = URL(fileURLWithPath: Listener.program)
        check.arguments = ["check"] + Listener.restartArguments.dropFirst(2)
        check.standardInput = FileHandle.nullDevice
        check.standardOutput = FileHandle.nullDevice
        check.standardError = said
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
        let words = (try? said.fileHandleForReading.readToEnd()) ?? Data()
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
