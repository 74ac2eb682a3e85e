import Dispatch
import Foundation
import Gateway
import Logging
import Synchronization

/// Where log lines go, whole and in order.
///
/// A line below `warning` may wait for ``delay``, so that a busy gateway writes many of them at once; a warning is
/// written at once, with all that came before it. Why: docs/decisions/0083-log-batched-json-lines.md.
final class LogOutput: Sendable {
    static let delay = DispatchTimeInterval.milliseconds(20)
    /// Bytes that may wait; beyond them, the thread that logs has to write.
    static let longestWait = 256 << 10

    private struct State {
        var lines: LogLineEncoder
        var clock = LogClock()
        var isFlushDue = false
    }

    private let file: FileHandle
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "portico.log")

    init(_ file: FileHandle, form: LogFormat) {
        self.file = file
        state = Mutex(State(lines: LogLineEncoder(form)))
    }

    func write(_ level: Logger.Level, _ message: String, _ members: (inout LogLineEncoder) -> Void) {
        let mustSchedule = state.withLock { state in
            state.lines.open(state.clock.text(of: .now), level, message)
            members(&state.lines)
            state.lines.close()
            if level >= .warning || state.lines.bytes.count > Self.longestWait { writeOut(&state) }
            guard !state.lines.bytes.isEmpty, !state.isFlushDue else { return false }
            state.isFlushDue = true
            return true
        }
        if mustSchedule { queue.asyncAfter(deadline: .now() + Self.delay) { self.flush() } }
    }

    /// Writes what waits. To be called before the process ends.
    func flush() {
        state.withLock { state in
            state.isFlushDue = false
            writeOut(&state)
        }
    }

    private func writeOut(_ state: inout State) {
        guard !state.lines.bytes.isEmpty else { return }
        try? file.write(contentsOf: Data(state.lines.bytes))
        state.lines.removeAll()
    }
}

extension LogOutput {
    /// The access log: a line for every request. Past swift-log, whose metadata cost more than the line itself.
    func write(_ access: AccessRecord) {
        write(.info, "request") { line in
            line.add("method", access.method)
            line.add("path", access.path)
            line.add("status", Int64(access.status))
            line.add("microseconds", access.microseconds)
            line.add("bytes", Int64(access.bytes))
            line.add("caller", access.caller)
            if let refusal = access.refusal { line.add("code", refusal.code) }
            line.add("endpoint", access.endpoint)
            if let refusal = access.refusal { line.add("reason", refusal.reason) }
            line.add("requestId", access.id)
        }
    }
}
