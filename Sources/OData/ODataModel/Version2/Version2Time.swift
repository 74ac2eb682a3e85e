/// `Edm.Time` of version 2 is a time of day told as the time since midnight: `PT13H20M05S` ([MS-ODATA], section 2.2.2).
public enum Version2Time {
    /// `hh:mm:ss[.f]` as `PThhHmmMss[.f]S`, with two digits each, as SAP's services write it. Nil for what is no time.
    public static func text(timeOfDay text: some StringProtocol) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 2, parts[1].utf8.count == 2, parts[2].utf8.count >= 2 else {
            return nil
        }
        return "PT\(parts[0])H\(parts[1])M\(parts[2])S"
    }

    /// `hh:mm:ss[.f]`; nil for what is no duration of less than a day.
    public static func timeOfDay(_ text: some StringProtocol) -> String? {
        var rest = Substring(text).utf8
        guard rest.popFirst() == UInt8(ascii: "P"), rest.popFirst() == UInt8(ascii: "T"), !rest.isEmpty else {
            return nil
        }
        let hours = number(before: "H", &rest)
        let minutes = number(before: "M", &rest)
        let seconds = seconds(&rest)
        guard rest.isEmpty, hours < 24, minutes < 60, seconds.whole < 60 else { return nil }
        return "\(twoDigits(hours)):\(twoDigits(minutes)):\(twoDigits(seconds.whole))\(seconds.fraction)"
    }

    /// 0 where the next number is followed by another mark.
    private static func number(before mark: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Int {
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        guard (1...9).contains(digits.count), digits.endIndex < rest.endIndex,
            rest[digits.endIndex] == UInt8(ascii: mark)
        else { return 0 }
        rest = rest[rest.index(after: digits.endIndex)...]
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// With the fraction as `.5`, without zeros at its end.
    private static func seconds(_ rest: inout Substring.UTF8View) -> (whole: Int, fraction: String) {
        guard rest.last == UInt8(ascii: "S") else { return (0, "") }
        let parts = rest.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.allSatisfy { $0 &- 0x30 < 10 } && $0.count < 10 }),
            let whole = Int(String(decoding: parts[0], as: UTF8.self)), parts.last?.isEmpty == false
        else { return (0, "") }
        rest = rest[rest.endIndex...]
        var digits = parts.count > 1 ? Array(parts[1]) : []
        while digits.last == 0x30 { digits.removeLast() }
        return (whole, digits.isEmpty ? "" : ".\(String(decoding: digits, as: UTF8.self))")
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
