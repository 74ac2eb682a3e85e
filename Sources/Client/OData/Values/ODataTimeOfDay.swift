import ValueTree

/// A time of day, to the nanosecond.
public struct ODataTimeOfDay: Sendable, Hashable, Comparable, ODataPrimitive {
    /// Since midnight, 0 to 86,399.
    public let seconds: Int
    public let nanoseconds: Int

    public init?(hour: Int, minute: Int, second: Int = 0, nanoseconds: Int = 0) {
        guard (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second),
            (0...999_999_999).contains(nanoseconds)
        else { return nil }
        (seconds, self.nanoseconds) = (hour * 3600 + minute * 60 + second, nanoseconds)
    }

    /// `12:30:00.5`, or version 2's `PT12H30M0.5S`.
    public init?(odata json: WireValue) {
        guard let text = json.stringValue else { return nil }
        if text.hasPrefix("P") {
            guard let time = Duration(isoText: text), (0..<86_400).contains(time.components.seconds) else { return nil }
            let (seconds, rest) = time.components
            self.init(
                hour: Int(seconds / 3600), minute: Int(seconds / 60 % 60), second: Int(seconds % 60),
                nanoseconds: Int(rest / 1_000_000_000))
        } else {
            guard let time = CivilText.time(text[...]) else { return nil }
            self.init(hour: time.0, minute: time.1, second: time.2, nanoseconds: time.3)
        }
    }

    public var literal: ODataLiteral { .timeOfDay(self) }
    public func json(_ version: ODataVersion) -> WireValue { .string(version == .v2 ? durationText : text) }
    public var text: String {
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { CivilText.padded($0) }
        return parts.joined(separator: ":") + CivilText.fraction(nanoseconds)
    }
    var durationText: String {
        "PT\(seconds / 3600)H\(seconds / 60 % 60)M\(seconds % 60)\(CivilText.fraction(nanoseconds))S"
    }
    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
