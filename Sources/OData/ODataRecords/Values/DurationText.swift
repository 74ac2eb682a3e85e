import AdapterKit

/// `Edm.Duration`: days, hours, minutes and seconds (XML Schema 1.1, dayTimeDuration), as an exact number of seconds.
public enum DurationText {
    /// Nil for what is no duration, and beyond 64 bits of seconds.
    public static func seconds(_ text: String) -> WireDecimal? {
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        guard rest.popFirst() == UInt8(ascii: "P"), !rest.isEmpty else { return nil }
        var whole = Total()
        var fraction = ""
        if let days = take(UInt8(ascii: "D"), &rest) { whole.add(days, times: 86_400) }
        if rest.first == UInt8(ascii: "T") {
            rest.removeFirst()
            guard !rest.isEmpty else { return nil }
            if let hours = take(UInt8(ascii: "H"), &rest) { whole.add(hours, times: 3600) }
            if let minutes = take(UInt8(ascii: "M"), &rest) { whole.add(minutes, times: 60) }
            if let last = rest.popLast() {
                guard last == UInt8(ascii: "S"), let parts = secondParts(rest) else { return nil }
                whole.add(parts.whole, times: 1)
                fraction = parts.fraction
                rest = rest[rest.endIndex...]
            }
        }
        guard rest.isEmpty, let seconds = whole.seconds else { return nil }
        return WireDecimal("\(isNegative ? "-" : "")\(seconds)\(fraction.isEmpty ? "" : ".\(fraction)")")
    }

    /// `P1DT2H3M4.5S`; `PT0S` for none.
    public static func text(_ seconds: WireDecimal) -> String {
        let zeros = String(repeating: "0", count: max(0, min(seconds.exponent, 18)))
        let plain = zeros.isEmpty ? seconds.description : (seconds.isNegative ? "-" : "") + seconds.digits + zeros
        let parts = plain.split(separator: ".")
        guard let first = parts.first, let signed = Int64(first) else { return "PT0S" }
        let isNegative = first.hasPrefix("-")
        let total = signed.magnitude
        let fraction = parts.count > 1 ? String(parts[1].reversed().drop { $0 == "0" }.reversed()) : ""
        let (days, rest) = total.quotientAndRemainder(dividingBy: 86_400)
        var time = rest / 3600 > 0 ? "\(rest / 3600)H" : ""
        if rest / 60 % 60 > 0 { time += "\(rest / 60 % 60)M" }
        if rest % 60 > 0 || !fraction.isEmpty { time += "\(rest % 60)\(fraction.isEmpty ? "" : ".\(fraction)")S" }
        guard days > 0 || !time.isEmpty else { return "PT0S" }
        return "\(isNegative ? "-" : "")P\(days > 0 ? "\(days)D" : "")\(time.isEmpty ? "" : "T\(time)")"
    }

    /// A sum whose parts come from outside; nil once it is beyond 64 bits.
    private struct Total {
        private(set) var seconds: Int64? = 0

        mutating func add(_ count: Int64, times unit: Int64) {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: unit)
            let (sum, isBeyond) = (seconds ?? 0).addingReportingOverflow(product)
            seconds = seconds == nil || isTooLarge || isBeyond ? nil : sum
        }
    }

    /// The number before a mark, where the next number is one of that mark.
    private static func take(_ mark: UInt8, _ rest: inout Substring.UTF8View) -> Int64? {
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        guard !digits.isEmpty, digits.count <= 15, digits.endIndex < rest.endIndex, rest[digits.endIndex] == mark
        else { return nil }
        rest = rest[rest.index(after: digits.endIndex)...]
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private static func secondParts(_ text: Substring.UTF8View) -> (whole: Int64, fraction: String)? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.count <= 15 }),
            parts.allSatisfy({ $0.allSatisfy { $0 &- 0x30 < 10 } }),
            let whole = Int64(String(decoding: parts[0], as: UTF8.self))
        else { return nil }
        return (whole, parts.count == 2 ? String(decoding: parts[1], as: UTF8.self) : "")
    }
}
