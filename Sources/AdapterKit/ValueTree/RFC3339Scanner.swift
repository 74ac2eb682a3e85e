/// The grammar of RFC 3339, section 5.6.
struct RFC3339Scanner {
    private static let maximumFractionDigits = 400
    private let text: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    /// Seconds since the reference date, rounded down, and the fraction's digits.
    mutating func scan() -> (whole: Int, fraction: [UInt8])? {
        guard let year = takeNumber(4), takes("-"), let month = takeNumber(2), takes("-"), let day = takeNumber(2),
            takes("T") || takes("t"),
            let hour = takeNumber(2), takes(":"), let minute = takeNumber(2), takes(":"), let second = takeNumber(2),
            let fraction = takeFraction(), let offset = takeOffset(), position == text.count,
            let civil = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return (civil.secondsSinceReferenceDate - offset, fraction)
    }

    private mutating func takeFraction() -> [UInt8]? {
        guard takes(".") else { return [] }
        let digits = text[position...].prefix { $0 &- 0x30 < 10 }
        position += digits.count
        return digits.isEmpty || digits.count > Self.maximumFractionDigits ? nil : Array(digits)
    }

    /// Seconds east of UTC.
    private mutating func takeOffset() -> Int? {
        if takes("Z") || takes("z") { return 0 }
        let isWest = takes("-")
        guard isWest || takes("+"), let hours = takeNumber(2), takes(":"), let minutes = takeNumber(2),
            hours < 24, minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return isWest ? -seconds : seconds
    }

    private mutating func takeNumber(_ count: Int) -> Int? {
        let digits = text[position...].prefix(count)
        guard digits.count == count, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        position += count
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}
