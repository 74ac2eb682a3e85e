/// When full copies are made: so long after the one before, or at a time of the day.
public enum BackupSchedule: Sendable, Equatable {
    /// Seconds after the one before was begun.
    case every(Int)
    /// Seconds after midnight in UTC.
    case daily(Int)

    /// `6h`, `90m`, `1d`: a number and its unit, from a minute to a year; `03:30`: a time of the day in UTC. Nil for anything
    /// else.
    public init?(_ text: String) {
        if let time = Self.time(text) {
            self = .daily(time)
            return
        }
        let units: [Character: Int] = ["m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Self.number(text.dropLast()),
            (60...31_536_000).contains(count * unit)
        else { return nil }
        self = .every(count * unit)
    }

    /// The time of the next copy after one that was begun at `last`, both in seconds since 1970.
    func next(after last: Double) -> Double {
        switch self {
        case .every(let seconds): return last + Double(seconds)
        case .daily(let time):
            let midnight = (last / 86_400).rounded(.down) * 86_400
            let today = midnight + Double(time)
            return today > last ? today : today + 86_400
        }
    }

    private static func time(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = number(parts[0]),
            let minute = number(parts[1]), hour < 24, minute < 60
        else { return nil }
        return hour * 3_600 + minute * 60
    }

    /// At most six digits.
    private static func number(_ text: Substring) -> Int? {
        guard (1...6).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
