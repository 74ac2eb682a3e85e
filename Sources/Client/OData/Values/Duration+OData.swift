import ValueTree

extension Duration: ODataPrimitive {
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        self.init(isoText: text)
    }

    public var literal: ODataLiteral { .duration(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(isoText) }

    /// `PT90.5S`: an `xs:dayTimeDuration`, to the nanosecond.
    var isoText: String {
        let isNegative = self < .zero
        let (seconds, attoseconds) = (isNegative ? .zero - self : self).components
        return (isNegative ? "-" : "") + "PT\(seconds)\(CivilText.fraction(Int(attoseconds / 1_000_000_000)))S"
    }

    init?(isoText text: String) {
        let isNegative = text.hasPrefix("-")
        let body = text.drop { $0 == "-" }
        guard body.first == "P" else { return nil }
        let halves = body.dropFirst().split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard let days = Self.sum(halves[0], ["D": 86_400]),
            let rest = halves.count == 2 ? Self.sum(halves[1], ["H": 3600, "M": 60, "S": 1]) : .zero
        else { return nil }
        self = isNegative ? .zero - (days + rest) : days + rest
    }

    private static func sum(_ text: Substring, _ units: [Character: Int]) -> Duration? {
        var (sum, digits) = (Duration.zero, "")
        for letter in text {
            guard let unit = units[letter] else {
                digits.append(letter)
                continue
            }
            let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, let whole = CivilText.number(first), !first.isEmpty,
                let rest = parts.count == 2 && unit == 1 ? CivilText.nanoseconds(parts[1]) : parts.count == 1 ? 0 : nil
            else { return nil }
            sum += .seconds(whole * unit) + .nanoseconds(rest)
            digits = ""
        }
        return digits.isEmpty ? sum : nil
    }
}
