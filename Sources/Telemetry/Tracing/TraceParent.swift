import Synchronization
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

    private static let sampledFlag: UInt64 = 1
    /// Bytes of version 00, with which those of later versions begin (section 3.2.4).
    private static let shortest = 55
    /// Bytes that are read at most of a field that may be longer.
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

    /// Creates the place of a call on behalf of a request: the request's trace goes on, or a new one begins that is not sampled.
    public init(continuing text: String?, random: () -> UInt64) {
        if let known = text.flatMap({ TraceParent($0) }) {
            self.init(in: known, isSampled: known.isSampled, random: random)
        } else {
            self.init(newTrace: random, isSampled: false)
        }
    }

    /// Nil for a text that is none, as several fields that were joined are.
    public init?(_ text: String) {
        let count = text.utf8.count
        guard Self.shortest...Self.longest ~= count,
            let read = text.utf8.withContiguousStorageIfAvailable({ Self.read($0) })
                ?? Array(text.utf8).withUnsafeBufferPointer({ Self.read($0) })
        else { return nil }
        self = read
    }

    private init(high: UInt64, low: UInt64, span: UInt64, isSampled: Bool) {
        (traceHigh, traceLow, spanNumber, self.isSampled) = (high, low, span, isSampled)
    }

    /// `bytes`: ``shortest`` at least. Without a text for each part: every request has one.
    private static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> TraceParent? {
        let hyphen = UInt8(ascii: "-")
        guard bytes.count >= shortest, bytes[2] == hyphen, bytes[35] == hyphen, bytes[52] == hyphen,
            let version = number(bytes[0..<2]), version != 0xFF, let high = number(bytes[3..<19]),
            let low = number(bytes[19..<35]), high != 0 || low != 0, let span = number(bytes[36..<52]), span != 0,
            let flags = number(bytes[53..<55]),
            bytes.count == shortest || (version != 0 && bytes[shortest] == hyphen)
        else { return nil }
        return TraceParent(high: high, low: low, span: span, isSampled: flags & sampledFlag != 0)
    }

    /// The number in digits of lower-case hexadecimal, 16 at most.
    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case 0x30...0x39: value = digit &- 0x30
            case 0x61...0x66: value = digit &- 0x57
            default: return nil
            }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// 32 digits of lower-case hexadecimal, not all zero.
    public var trace: String { Self.hexadecimal([traceHigh, traceLow]) }

    /// 16 such digits: the span that calls.
    public var span: String { Self.hexadecimal([spanNumber]) }

    /// The text of version 00, whichever version was read. Flags that this version does not know are not passed on
    /// (section 3.2.2.5).
    public var text: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }

    /// A number from 0 up to 1 that the trace's id determines: all who sample by a ratio choose the same traces.
    var position: Double {
        Double(traceLow >> 11) / Double(UInt64(1) << 53)
    }

    private static func hexadecimal<let count: Int>(_ numbers: InlineArray<count, UInt64>) -> String {
        String(unsafeUninitializedCapacity: 16 * count) { buffer in
            for index in 0..<16 * count {
                let digit = UInt8(truncatingIfNeeded: numbers[index / 16] >> UInt64(60 - 4 * (index % 16))) & 15
                buffer[index] = digit + (digit < 10 ? 0x30 : 0x57)
            }
            return 16 * count
        }
    }
}

/// Makes the numbers of ids of traces and spans: unpredictable from outside, and not secret.
///
/// Every request takes several, so they are not asked of the system, which costs a call of the kernel each: a sequence
/// (SplitMix64) begins where the system's random numbers say. One atomic addition for each number, no lock.
public final class TraceNumbers: Sendable {
    /// The numbers of this process.
    public static let shared = TraceNumbers(seed: .random(in: .min ... .max), mask: .random(in: .min ... .max))

    private let state: Atomic<UInt64>
    /// Keeps the sequences of two processes apart whose seeds stand near each other.
    private let mask: UInt64

    /// Two of the same seed and mask give the same numbers.
    public init(seed: UInt64, mask: UInt64) {
        state = Atomic(seed)
        self.mask = mask
    }

    /// The next number. From any thread.
    public func next() -> UInt64 {
        var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31 ^ mask
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
