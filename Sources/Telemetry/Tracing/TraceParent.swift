import Tracing

/// A place in a trace, as `traceparent` writes it. Source: W3C Trace Context, section 3.2.
///
/// The ids are numbers, which cost a request nothing; a line of the log or a span has them as texts.
public struct TraceParent: Sendable, Equatable {
    private let traceHigh: UInt64
    private let traceLow: UInt64
    private let spanNumber: UInt64
    /// Whether the one who began the trace, or went on with it, records it.
    public let isSampled: Bool

    private static let sampledFlag = 1
    /// Of a field that may be longer than version 00 (section 3.2.4), what is read at most.
    private static let longest = 256

    /// `random` gives 64 random bits.
    public init(newTrace random: () -> UInt64, isSampled: Bool) {
        traceHigh = random()
        traceLow = random() | 1
        spanNumber = random() | 1
        self.isSampled = isSampled
    }

    /// A new span of a trace.
    public init(in parent: TraceParent, isSampled: Bool, random: () -> UInt64) {
        (traceHigh, traceLow) = (parent.traceHigh, parent.traceLow)
        spanNumber = random() | 1
        self.isSampled = isSampled
    }

    /// Of a call on behalf of a request: the request's trace goes on, or a new one begins that is not sampled.
    public init(continuing text: String?, random: () -> UInt64) {
        if let known = text.flatMap({ TraceParent($0) }) {
            self.init(in: known, isSampled: known.isSampled, random: random)
        } else {
            self.init(newTrace: random, isSampled: false)
        }
    }

    /// Nil for a text that is none, as several fields that were joined are.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count >= 4, Self.isHexadecimal(parts[0], 2), parts[0] != "ff",
            parts[0] != "00" || parts.count == 4, Self.isHexadecimal(parts[1], 32),
            let high = UInt64(parts[1].prefix(16), radix: 16), let low = UInt64(parts[1].suffix(16), radix: 16),
            high != 0 || low != 0, Self.isHexadecimal(parts[2], 16), let span = UInt64(parts[2], radix: 16), span != 0,
            Self.isHexadecimal(parts[3], 2), let flags = parts[3].last?.hexDigitValue
        else { return nil }
        (traceHigh, traceLow, spanNumber) = (high, low, span)
        isSampled = flags & Self.sampledFlag != 0
    }

    /// 32 digits of lower-case hexadecimal, not all zero.
    public var trace: String { Self.hexadecimal(traceHigh) + Self.hexadecimal(traceLow) }

    /// 16 such digits: the span that calls.
    public var span: String { Self.hexadecimal(spanNumber) }

    /// Of version 00, whichever version was read. Flags that this version does not know are not passed on
    /// (section 3.2.2.5).
    public var text: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }

    /// A number from 0 up to 1 that the trace's id determines: all who sample by a ratio choose the same traces.
    var position: Double {
        Double(traceLow >> 11) / Double(UInt64(1) << 53)
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// `tracestate`, which goes on with its `traceparent` as it came. Source: W3C Trace Context, section 3.3.
public enum TraceState {
    /// Characters that have to be passed on (section 3.3.1.5); a longer list is dropped as a whole.
    static let longest = 512

    /// The field where it may be passed on; nil: it is dropped.
    public static func propagated(_ text: String?) -> String? {
        guard let text, !text.isEmpty, text.utf8.count <= longest,
            text.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 < 0x7F) })
        else { return nil }
        return text
    }
}

extension TraceParent {
    /// The span that the current task is in, with what goes on with it; nil: it is in none that is recorded.
    public static var current: (place: TraceParent, state: String?)? {
        guard let context = ServiceContext.current, let place = context.traceParent else { return nil }
        return (place, context.traceState)
    }
}
