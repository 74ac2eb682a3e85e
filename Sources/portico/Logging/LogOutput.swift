import Dispatch
import Foundation
import Logging
import Synchronization

/// Where log lines go, whole and in order.
///
/// A line below `warning` may wait for ``delay``, so that a busy gateway writes many of them at once; a warning is
/// written at once, with all that came before it. Why: docs/decisions/0083-log-batched-json-lines.md.
final class LogOutput: Sendable {
    static let delay = DispatchTimeInterval.milliseconds(20)
    /// Bytes that may wait; beyond them, whoever logs has to write.
    static let longestWait = 256 << 10

    private struct State {
        var lines: LogLines
        var clock = LogClock()
        var isFlushDue = false
    }

    private let file: FileHandle
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "portico.log")

    init(_ file: FileHandle, form: LogForm) {
        self.file = file
        state = Mutex(State(lines: LogLines(form)))
    }

    func write(_ level: Logger.Level, _ message: String, _ members: (inout LogLines) -> Void) {
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
