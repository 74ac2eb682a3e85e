import AdapterKit
import Dispatch
import Foundation
import Gateway
import Logging
import Synchronization
import Telemetry

/// Where log lines go, whole and in order.
///
/// A line below `warning` may wait for ``delay``, so that a busy gateway writes many of them at once; a warning is
/// written at once, with all that came before it. Why: docs/decisions/0083-log-batched-json-lines.md.
final class LogOutput: Sendable {
    static let delay = DispatchTimeInterval.milliseconds(20)
    /// Bytes that may wait; beyond them, the thread that logs has to write.
    static let longestWait = 256 << 10

    fileprivate struct State {
        var lines: LogLineEncoder
        /// The line for ``ring`` where lines are text.
        var json = LogLineEncoder(.json)
        var ring: LogRing
        var clock = LogClock()
        var isFlushDue = false
    }

    private let file: FileHandle
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "portico.log")

    /// `remembered`: how many bytes of lines stay in memory, as JSON.
    init(_ file: FileHandle, form: LogFormat, remembered: Int = 0) {
        self.file = file
        state = Mutex(State(lines: LogLineEncoder(form), ring: LogRing(capacity: remembered)))
    }

    /// `isWritten` false: the line is remembered alone.
    func write(
        _ level: Logger.Level, _ message: String, isWritten: Bool = true, _ members: (inout LogLineEncoder) -> Void
    ) {
        let mustSchedule = state.withLock { state in
            let time = state.clock.text(of: .now)
            guard isWritten else {
                state.remember(time, level, message, members)
                return false
            }
            let start = state.lines.bytes.count
            state.lines.open(time, level, message)
            members(&state.lines)
            state.lines.close()
            if state.lines.form == .json {
                // Without the end of the line.
                state.ring.append(state.lines.bytes[start...].dropLast(), LogLevel(level))
            } else {
                state.remember(time, level, message, members)
            }
            if level >= .warning || state.lines.bytes.count > Self.longestWait { writeOut(&state) }
            guard !state.lines.bytes.isEmpty, !state.isFlushDue else { return false }
            state.isFlushDue = true
            return true
        }
        if mustSchedule { queue.asyncAfter(deadline: .now() + Self.delay) { self.flush() } }
    }

    /// Lines from now on have another form, and other room in memory.
    func use(_ form: LogFormat, remembered: Int) {
        state.withLock { state in
            if state.lines.form != form {
                writeOut(&state)
                state.lines = LogLineEncoder(form)
            }
            state.ring.resize(to: remembered)
        }
    }

    /// The newest lines in memory between two numbers that have a level at least, and the number of the last line.
    func rememberedLines(
        after number: UInt64, before next: UInt64 = .max, level: LogLevel = .trace, limit: Int = .max
    ) -> (lines: [LogRing.Line], last: UInt64) {
        state.withLock {
            ($0.ring.lines(after: number, before: next, level: level, limit: limit), $0.ring.last)
        }
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

extension LogOutput.State {
    fileprivate mutating func remember(
        _ time: [UInt8], _ level: Logger.Level, _ message: String, _ members: (inout LogLineEncoder) -> Void
    ) {
        json.removeAll()
        json.open(time, level, message)
        members(&json)
        json.close()
        ring.append(json.bytes.dropLast(), LogLevel(level))
    }
}

extension LogOutput {
    /// The access log: a line for every request. Past swift-log, whose metadata cost more than the line itself.
    ///
    /// `isWritten` false: what fails is remembered alone, so that a request is found by its id all the same. A slow request has
    /// a line more, with its steps, and each one where the module logs debugging lines.
    func write(_ access: AccessRecord, isWritten: Bool) {
        if let steps = access.steps { writeSteps(access, steps) }
        guard isWritten || access.refusal != nil else { return }
        write(.info, "request", isWritten: isWritten) { line in
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
            if let trace = access.trace { line.add("traceId", trace.trace) }
        }
    }

    /// Steps in microseconds, each with how often it was taken where that is not once.
    private func writeSteps(_ access: AccessRecord, _ steps: [RequestTimeline.Total]) {
        write(access.isSlow ? .warning : .debug, access.isSlow ? "slow request" : "request steps") { line in
            line.add("endpoint", access.endpoint)
            line.add("microseconds", access.microseconds)
            for total in steps {
                line.add(named: total.step.word, literally: total.nanoseconds / 1_000)
                if total.count > 1 { line.add(named: "\(total.step.word)Count", literally: total.count) }
            }
            line.add("requestId", access.id)
            if let trace = access.trace { line.add("traceId", trace.trace) }
        }
    }
}
