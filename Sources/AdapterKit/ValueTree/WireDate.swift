/// An instant: seconds since 2001-01-01T00:00:00Z, the property list epoch.
///
/// A type of its own instead of Foundation's `Date`, so that the value tree needs no Foundation; the two carry the same
/// number (`Date(timeIntervalSinceReferenceDate:)`).
public struct WireDate: Sendable, Hashable, Comparable {
    /// Seconds between 1970-01-01T00:00:00Z and 2001-01-01T00:00:00Z.
    public static let unixEpochOffset: Double = 978_307_200

    /// The seconds since 2001-01-01 00:00:00 UTC.
    public let secondsSinceReferenceDate: Double

    /// Creates a wire date with these values.
    public init(secondsSinceReferenceDate: Double) {
        self.secondsSinceReferenceDate = secondsSinceReferenceDate
    }

    /// Creates a wire date with these values.
    public init(secondsSince1970: Double) {
        self.init(secondsSinceReferenceDate: secondsSince1970 - Self.unixEpochOffset)
    }

    /// The seconds since 1970-01-01 00:00:00 UTC.
    public var secondsSince1970: Double { secondsSinceReferenceDate + Self.unixEpochOffset }

    public static func < (left: WireDate, right: WireDate) -> Bool {
        left.secondsSinceReferenceDate < right.secondsSinceReferenceDate
    }
}

// RFC 3339 text, the form of a date in JSON and generic XML. Fractions go through decimal text, never through
// arithmetic on doubles, so that every instant survives bit by bit: the double's shortest decimal digits are split at
// the point, and reading puts the same digits together again.

extension WireDate {
    /// The instant in UTC, with as many fraction digits as tell it apart from its neighbours; nil for years outside
    /// 0000…9999 and for what is not finite.
    public var rfc3339: String? {
        guard secondsSinceReferenceDate.isFinite, secondsSinceReferenceDate.magnitude < 1e12 else { return nil }
        let (whole, fraction) = DecimalSeconds.split(secondsSinceReferenceDate)
        guard let civil = CivilTime(secondsSinceReferenceDate: whole) else { return nil }
        return fraction.isEmpty ? "\(civil)Z" : "\(civil).\(fraction)Z"
    }

    /// Reads RFC 3339, section 5.6, offsets included. Nil for anything else: a missing offset, a space for the `T`, a
    /// day that the month lacks, a leap second (it has no place on this time scale), over 400 fraction digits.
    public init?(rfc3339 text: String) {
        var scanner = RFC3339Scanner(text)
        guard let (whole, fraction) = scanner.scan() else { return nil }
        self.init(secondsSinceReferenceDate: DecimalSeconds.join(whole, fraction))
    }
}

/// Seconds as a whole number, rounded down, and the decimal digits after the point.
enum DecimalSeconds {
    static func split(_ seconds: Double) -> (whole: Int, fraction: String) {
        // Most instants have no fraction.
        if let whole = Int(exactly: seconds) { return (whole, "") }
        // Cannot trap: `rfc3339` asks only for what is finite and below 1e12.
        guard let decimal = WireDecimal(seconds.description) else { preconditionFailure("not finite") }
        let digits = [UInt8](decimal.digits.utf8)
        let places = -decimal.exponent
        guard places > 0 else { return (Int(seconds), "") }
        let padded = [UInt8](repeating: 0x30, count: max(0, places + 1 - digits.count)) + digits
        let fraction = trimmed(padded.suffix(places))
        // Cannot trap: digits, at most twelve before the point.
        let magnitude = Int(String(decoding: padded.dropLast(places), as: UTF8.self))!
        guard decimal.isNegative else { return (magnitude, text(fraction)) }
        return fraction.isEmpty ? (-magnitude, "") : (-magnitude - 1, text(complement(fraction)))
    }

    static func join(_ whole: Int, _ fraction: [UInt8]) -> Double {
        let fraction = trimmed(fraction[...])
        if fraction.isEmpty { return Double(whole) }
        // Cannot trap: digits around a point.
        if whole >= 0 { return Double("\(whole).\(text(fraction))")! }
        // Cannot trap: digits around a point.
        return Double("-\(-whole - 1).\(text(complement(fraction)))")!
    }

    /// The digits of one minus the fraction; the last digit is not zero.
    private static func complement(_ fraction: [UInt8]) -> [UInt8] {
        var digits = fraction.map { 0x69 - $0 }
        digits[digits.count - 1] += 1
        return digits
    }

    private static func trimmed(_ digits: ArraySlice<UInt8>) -> [UInt8] {
        var digits = digits
        while digits.last == 0x30 { digits.removeLast() }
        return Array(digits)
    }

    private static func text(_ digits: [UInt8]) -> String { String(decoding: digits, as: UTF8.self) }
}

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

/// A date and a time of day in UTC, in the proleptic Gregorian calendar, years 0 to 9999.
public struct CivilTime: Sendable, Equatable {
    /// The parts of the date and of the time of day, in UTC.
    public let year, month, day, hour, minute, second: Int

    /// Days between 0000-03-01, where the arithmetic starts its years, and 2001-01-01.
    private static let referenceDay = 730_791
    private static let daysIn400Years = 146_097

    /// Nil where a field is out of range or the month lacks the day.
    public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (0...9999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Nil for years outside 0…9999.
    public init?(secondsSinceReferenceDate seconds: Int) {
        let (days, time) = Self.floorDivide(seconds, by: 86_400)
        let (era, dayOfEra) = Self.floorDivide(days + Self.referenceDay, by: Self.daysIn400Years)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1,
            hour: time / 3600, minute: time / 60 % 60, second: time % 60)
    }

    /// The seconds since 2001-01-01 00:00:00 UTC.
    public var secondsSinceReferenceDate: Int {
        let shifted = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = Self.floorDivide(shifted, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * Self.daysIn400Years + dayOfEra - Self.referenceDay
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func days(in month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    private static func floorDivide(_ value: Int, by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension CivilTime: CustomStringConvertible {
    /// `2026-11-21T08:03:02`, without an offset.
    public var description: String {
        String(unsafeUninitializedCapacity: 19) { buffer in
            write(year / 100, nil, to: buffer, at: 0)
            write(year % 100, "-", to: buffer, at: 2)
            write(month, "-", to: buffer, at: 5)
            write(day, "T", to: buffer, at: 8)
            write(hour, ":", to: buffer, at: 11)
            write(minute, ":", to: buffer, at: 14)
            write(second, nil, to: buffer, at: 17)
            return 19
        }
    }

    /// Two digits, and the mark behind them.
    private func write(
        _ number: Int, _ mark: Unicode.Scalar?, to buffer: UnsafeMutableBufferPointer<UInt8>, at place: Int
    ) {
        buffer[place] = UInt8(0x30 + number / 10)
        buffer[place + 1] = UInt8(0x30 + number % 10)
        if let mark { buffer[place + 2] = UInt8(ascii: mark) }
    }
}
