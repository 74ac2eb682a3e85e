import AdapterKit

/// The place of a call in a trace (W3C Trace Context, section 3.2): the trace of the caller's request, with the call as a
/// span of its own.
struct TraceParent: Sendable, Equatable {
    let trace: String
    let span: String
    let flags: String

    /// Of a request that is answered: its trace goes on, or a new one begins.
    init(continuing text: String?, random: () -> UInt64) {
        let known = text.flatMap { TraceParent($0) }
        trace = known?.trace ?? Self.hexadecimal(random()) + Self.hexadecimal(random() | 1)
        span = Self.hexadecimal(random() | 1)
        flags = known?.flags ?? "00"
    }

    /// Nil for a text that is none.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 256, parts.count >= 4, Self.isHexadecimal(parts[0], 2), parts[0] != "ff",
            parts[0] != "00" || parts.count == 4, Self.isHexadecimal(parts[1], 32),
            parts[1].contains(where: { $0 != "0" }), Self.isHexadecimal(parts[2], 16),
            parts[2].contains(where: { $0 != "0" }), Self.isHexadecimal(parts[3], 2)
        else { return nil }
        trace = String(parts[1])
        span = String(parts[2])
        flags = String(parts[3])
    }

    var text: String { "00-\(trace)-\(span)-\(flags)" }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
