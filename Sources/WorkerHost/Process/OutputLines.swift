import Glibc

/// Makes lines of what a worker writes to its standard output and error. A state machine: limits of a line's length and of
/// lines in a second hold whatever is written, and nothing of a line can control a terminal.
struct OutputLines: Sendable {
    /// Limits of what reaches the log.
    struct Limits: Sendable, Equatable {
        /// Bytes of a line; what follows is left out.
        var lineBytes = 2_048
        /// Lines in each second.
        var linesPerSecond = 50
        /// The last lines, kept for the report of a crash.
        var kept = 20
        /// Bytes read in each second; the worker waits when it writes more.
        var bytesPerSecond = 64 << 20
    }

    /// A line to be logged.
    enum Event: Sendable, Equatable {
        case line(String)
        /// So many lines were left out in the last second.
        case omitted(Int)
    }

    private(set) var last: [String] = []
    private let limits: Limits
    private var isStackTrace = false
    private var partial: [UInt8] = []
    private var isTooLong = false
    private var second: ContinuousClock.Instant?
    private var lines = 0
    private var omitted = 0
    private var bytes = 0

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Until when nothing more is to be read; nil: read on.
    func pause(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard bytes >= limits.bytesPerSecond, let end = second?.advanced(by: .seconds(1)), now < end else { return nil }
        return end
    }

    /// Takes what was written, in pieces of any size.
    mutating func take(_ piece: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) -> [Event] {
        var events = turn(to: now)
        bytes += piece.count
        var rest = piece[...]
        while let start = rest.base.baseAddress?.advanced(by: rest.startIndex), !rest.isEmpty {
            // What one reads by loops over bytes takes seconds in a debug build.
            let end = memchr(start, Int32(UInt8(ascii: "\n")), rest.count).map { start.distance(to: $0) }
            append(rest.prefix(end ?? rest.count))
            guard let end else { break }
            events += endLine()
            rest = rest.dropFirst(end + 1)
        }
        return events
    }

    private mutating func append(_ part: Slice<UnsafeRawBufferPointer>) {
        guard lines < limits.linesPerSecond else { return }
        let space = limits.lineBytes - partial.count
        if part.count > space { isTooLong = true }
        partial.append(contentsOf: part.prefix(max(0, space)))
    }

    /// The end of the output.
    mutating func finish() -> [Event] {
        var events = partial.isEmpty ? [] : endLine()
        if omitted > 0 { events.append(.omitted(omitted)) }
        omitted = 0
        return events
    }

    private mutating func turn(to now: ContinuousClock.Instant) -> [Event] {
        if let second, now < second.advanced(by: .seconds(1)) { return [] }
        defer { (second, lines, bytes, omitted) = (now, 0, 0, 0) }
        return omitted > 0 ? [.omitted(omitted)] : []
    }

    private mutating func endLine() -> [Event] {
        defer {
            partial.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        // Most of what is beyond the rate is neither decoded nor kept, so that a flood costs little.
        guard lines < limits.linesPerSecond else {
            omitted += 1
            return []
        }
        lines += 1
        guard !partial.isEmpty else { return [] }
        let line = Self.text(partial) + (isTooLong ? "…" : "")
        keep(line)
        return [.line(line)]
    }

    /// The frames that Swift prints after the message of a fatal error would push that message out; without symbols they say
    /// nothing.
    private mutating func keep(_ line: String) {
        if line.hasPrefix("Current stack trace:") { isStackTrace = true }
        if isStackTrace, !line.hasPrefix("Current stack trace:"), line.first?.isNumber != true { isStackTrace = false }
        guard !isStackTrace else { return }
        last.append(line)
        if last.count > limits.kept { last.removeFirst() }
    }

    /// Repaired where it is no UTF-8; control characters are replaced.
    private static func text(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            let isTab = scalar == "\t"
            let isControl = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
            text.append(isTab ? " " : isControl ? "\u{FFFD}" : scalar)
        }
        return String(text)
    }
}
