/// Numbers as people read them.
public enum Figures {
    /// With a comma before every three digits.
    public static func count(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        let grouped = digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : String(digit)
        }
        return (number < 0 ? "-" : "") + grouped.joined()
    }

    /// `1 row`, `2,000 rows`.
    public static func count(_ number: Int64, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// In the largest unit of which there is at least one.
    public static func bytes(_ number: Int64) -> String {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] as [(String, Int64)] where number >= 1 << shift {
            let tenths = (Double(number) / Double(1 << shift) * 10).rounded() / 10
            return "\(tenths) \(unit)"
        }
        return count(number, "byte")
    }

    /// A length of time in its two largest units: `2 d 3 h`, `4 min 10 s`, `0.25 s`.
    public static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 1, seconds < 1e15 else { return "\((seconds * 1_000).rounded() / 1_000) s" }
        let units: [(name: String, length: Int64)] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        // Cannot trap: bounded above.
        let whole = Int64(seconds.rounded(.down))
        let first = units.firstIndex { $0.length <= whole } ?? units.count - 1
        let (larger, rest) = (whole / units[first].length, whole % units[first].length)
        let words = "\(count(larger)) \(units[first].name)"
        guard first + 1 < units.count, case let smaller = rest / units[first + 1].length, smaller > 0 else {
            return words
        }
        return "\(words) \(smaller) \(units[first + 1].name)"
    }

    /// Seconds of `30s`, `15m`, `8h` or `2d`; nil for another text.
    public static func seconds(_ text: String) -> Double? {
        let scale = ["s": 1.0, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ scale[String($0)] }), let number = Int(text.dropLast()), number >= 0
        else { return nil }
        return Double(number) * unit
    }
}
