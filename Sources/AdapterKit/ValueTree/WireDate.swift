/// An instant, exact to an attosecond: 10⁻¹⁸ seconds, more digits than any clock or format has.
///
/// A type of its own instead of Foundation's `Date`, which is a double and so tells instants of this year 119 nanoseconds
/// apart. What is further than some 29,000 years from 2001 is ``beginning`` or ``end``, which no format carries.
public struct WireDate: Sendable, Hashable, Comparable {
    /// Seconds between 1970-01-01T00:00:00Z and 2001-01-01T00:00:00Z.
    public static let unixEpochOffset: Double = 978_307_200
    /// Before all instants that there are.
    public static let beginning = WireDate(ticks: .min, attoseconds: 0)
    /// After all instants that there are.
    public static let end = WireDate(ticks: .max, attoseconds: 0)
    /// 2001-01-01T00:00:00Z, the property list epoch.
    public static let referenceDate = WireDate(ticks: 0, attoseconds: 0)
    /// 1970-01-01T00:00:00Z.
    public static let unixEpoch = WireDate(ticks: -9_783_072_000_000_000, attoseconds: 0)

    /// Steps of 100 nanoseconds in a second.
    public static let ticksPerSecond: Int64 = 10_000_000
    /// Attoseconds in a step of 100 nanoseconds.
    public static let attosecondsPerTick: Int64 = 100_000_000_000
    /// Digits after the point that an instant's seconds have at most.
    public static let maximumFractionDigits = 18

    /// Whole steps of 100 nanoseconds since 2001-01-01T00:00:00Z, rounded down.
    public let ticks: Int64
    /// Attoseconds beyond ``ticks``, fewer than ``attosecondsPerTick``.
    public let attoseconds: Int64

    private init(ticks: Int64, attoseconds: Int64) {
        (self.ticks, self.attoseconds) = (ticks, attoseconds)
    }

    /// Attoseconds outside of a step are taken for the nearest within it.
    public init(ticks: Int64, attosecondsBeyond attoseconds: Int64 = 0) {
        self.init(ticks: ticks, attoseconds: min(max(attoseconds, 0), Self.attosecondsPerTick - 1))
    }

    public static func < (left: WireDate, right: WireDate) -> Bool {
        left.ticks == right.ticks ? left.attoseconds < right.attoseconds : left.ticks < right.ticks
    }

    /// False for ``beginning`` and ``end``.
    public var isFinite: Bool { self != .beginning && self != .end }

    /// Whether the instant is in the years 0000 to 9999, which have an RFC 3339 text.
    public var isInCalendar: Bool { Self.calendar.contains(ticks) }

    private static let calendar = (-63_145_526_400 * ticksPerSecond)..<(252_423_993_600 * ticksPerSecond)
    fileprivate static let unixEpochTicks = Int64(unixEpochOffset) * ticksPerSecond
}

// Doubles. A double stands for the instant that its shortest decimal digits name, so that the double comes back bit by bit.
extension WireDate {
    /// The instant of the double's shortest digits. What is no number is ``beginning``; digits beyond an attosecond, which only
    /// doubles of 2001's first second have, are cut off.
    public init(secondsSinceReferenceDate seconds: Double) {
        self.init(seconds, since: 0)
    }

    /// The instant of the double's shortest digits.
    public init(secondsSince1970 seconds: Double) {
        self.init(seconds, since: Int64(Self.unixEpochOffset))
    }

    /// `nanoseconds` beyond whole seconds since 1970, as the system's clocks and files have them.
    public init(secondsSince1970 seconds: Int, nanoseconds: Int) {
        let (whole, isBeyond) = seconds.subtractingReportingOverflow(Int(Self.unixEpochOffset))
        guard !isBeyond, (0..<1_000_000_000).contains(nanoseconds),
            let start = WireDate(wholeSeconds: Int64(whole), fraction: [UInt8]())
        else {
            self = seconds < 0 ? .beginning : .end
            return
        }
        let (steps, rest) = Int64(nanoseconds).quotientAndRemainder(dividingBy: 100)
        self.init(ticks: start.ticks + steps, attoseconds: rest * 1_000_000_000)
    }

    private init(_ seconds: Double, since epoch: Int64) {
        guard seconds.magnitude < 1e12 else {
            self = seconds > 0 ? .end : .beginning
            return
        }
        let (whole, fraction) = DecimalSeconds.split(seconds)
        let digits = fraction.utf8.prefix(Self.maximumFractionDigits)
        self = WireDate(wholeSeconds: Int64(whole) - epoch, fraction: digits) ?? (whole < 0 ? .beginning : .end)
    }

    /// The double that is nearest to the seconds since 2001-01-01 00:00:00 UTC. Finite for ``beginning`` and ``end`` too.
    public var secondsSinceReferenceDate: Double { nearestDouble }

    /// The double that is nearest to the seconds since 1970-01-01 00:00:00 UTC.
    public var secondsSince1970: Double {
        let (shifted, isBeyond) = ticks.addingReportingOverflow(Self.unixEpochTicks)
        guard !isBeyond else { return secondsSinceReferenceDate + Self.unixEpochOffset }
        return WireDate(ticks: shifted, attoseconds: attoseconds).nearestDouble
    }

    /// The double nearest to the seconds that there are in `ticks` and `attoseconds`.
    private var nearestDouble: Double {
        let (whole, rest) = split
        if rest == 0, attoseconds == 0 { return Double(whole) }
        // Both are exact, so that the quotient is the nearest.
        if attoseconds == 0, ticks.magnitude < 1 << 53 { return Double(ticks) / Double(Self.ticksPerSecond) }
        return DecimalSeconds.join(Int(whole), Array(fraction.utf8))
    }

    /// Whether the nearest double means this instant, and no other one.
    public var isExactAsDouble: Bool { WireDate(secondsSinceReferenceDate: secondsSinceReferenceDate) == self }
}

// Decimal digits. Fractions go through them, never through arithmetic on doubles.
extension WireDate {
    /// Whole seconds since 2001 and digits after the point, in ASCII. Nil beyond the range, and for digits beyond an attosecond.
    init?(wholeSeconds: Int64, fraction: some Collection<UInt8>) {
        let (start, isBeyond) = wholeSeconds.multipliedReportingOverflow(by: Self.ticksPerSecond)
        guard !isBeyond else { return nil }
        var (steps, rest, place): (Int64, Int64, Int) = (0, 0, 0)
        for digit in fraction {
            let value = Int64(digit) - 0x30
            switch place {
            case ..<7: steps = steps * 10 + value
            case ..<Self.maximumFractionDigits: rest = rest * 10 + value
            default: if value != 0 { return nil }
            }
            place += 1
        }
        for _ in min(place, 7)..<7 { steps *= 10 }
        for _ in min(max(place, 7), Self.maximumFractionDigits)..<Self.maximumFractionDigits { rest *= 10 }
        let (sum, isOver) = start.addingReportingOverflow(steps)
        guard !isOver, sum != .min, sum != .max else { return nil }
        self.init(ticks: sum, attoseconds: rest)
    }

    /// Whole seconds since 2001, rounded down, and the steps of 100 nanoseconds after them.
    private var split: (seconds: Int64, ticks: Int64) {
        let (quotient, remainder) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
        return remainder < 0 ? (quotient - 1, remainder + Self.ticksPerSecond) : (quotient, remainder)
    }

    /// The seconds since 2001-01-01 00:00:00 UTC, rounded down.
    public var wholeSecondsSinceReferenceDate: Int { Int(split.seconds) }

    /// Decimal digits of the second after the point, without zeros at the end: up to 18.
    public var fraction: String {
        let steps = split.ticks
        guard steps != 0 || attoseconds != 0 else { return "" }
        var digits = DecimalSeconds.padded(steps, to: 7)
        if attoseconds != 0 { digits += DecimalSeconds.padded(attoseconds, to: 11) }
        while digits.last == 0x30 { digits.removeLast() }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The instant without what is beyond so many digits after the point.
    public func cut(toFractionDigits count: Int) -> WireDate {
        guard count < Self.maximumFractionDigits, isInCalendar else { return self }
        return WireDate(wholeSeconds: split.seconds, fraction: fraction.utf8.prefix(max(0, count))) ?? self
    }
}

extension WireDate {
    /// The exact seconds from another instant to this one.
    public func decimalSeconds(since other: WireDate) -> WireDecimal {
        let isNegative = self < other
        let (late, early) = isNegative ? (other, self) : (self, other)
        // The difference's sign bit is one of its digits.
        var steps = UInt64(bitPattern: late.ticks &- early.ticks)
        var rest = late.attoseconds - early.attoseconds
        if rest < 0 { (steps, rest) = (steps - 1, rest + Self.attosecondsPerTick) }
        let (whole, part) = steps.quotientAndRemainder(dividingBy: UInt64(Self.ticksPerSecond))
        var digits = DecimalSeconds.padded(Int64(part), to: 7) + DecimalSeconds.padded(rest, to: 11)
        while digits.last == 0x30 { digits.removeLast() }
        let point = digits.isEmpty ? "" : ".\(String(decoding: digits, as: UTF8.self))"
        // Cannot trap: digits around a point.
        return WireDecimal("\(isNegative ? "-" : "")\(whole)\(point)")!
    }

    /// The instant that is so many seconds later. Nil beyond the range, and for seconds with digits beyond an attosecond.
    public func adding(decimalSeconds seconds: WireDecimal) -> WireDate? {
        guard let (steps, rest) = DecimalSeconds.ticks(seconds) else { return nil }
        let (shifted, isBeyond) = ticks.addingReportingOverflow(seconds.isNegative ? -steps : steps)
        var sum = shifted
        var attoseconds = self.attoseconds + (seconds.isNegative ? -rest : rest)
        if attoseconds < 0 { (sum, attoseconds) = (sum &- 1, attoseconds + Self.attosecondsPerTick) }
        if attoseconds >= Self.attosecondsPerTick {
            (sum, attoseconds) = (sum &+ 1, attoseconds - Self.attosecondsPerTick)
        }
        guard !isBeyond, sum.magnitude < Self.end.ticks.magnitude else { return nil }
        return WireDate(ticks: sum, attoseconds: attoseconds)
    }
}

// RFC 3339 text, the form of a date in JSON and generic XML.
extension WireDate {
    /// The instant in UTC, with every digit of the fraction that is not a zero at its end; nil for years outside
    /// 0000…9999.
    public var rfc3339: String? {
        guard isInCalendar, let civil = CivilTime(secondsSinceReferenceDate: wholeSecondsSinceReferenceDate) else {
            return nil
        }
        let fraction = fraction
        return fraction.isEmpty ? "\(civil)Z" : "\(civil).\(fraction)Z"
    }

    /// Reads RFC 3339, section 5.6, offsets included. Nil for anything else: a missing offset, a space for the `T`, a
    /// day that the month lacks, a leap second (it has no place on this time scale), over 400 fraction digits, or one
    /// beyond the 18th that is not zero.
    public init?(rfc3339 text: String) {
        var scanner = RFC3339Scanner(text)
        guard let (whole, fraction) = scanner.scan(),
            let instant = WireDate(wholeSeconds: Int64(whole), fraction: fraction)
        else { return nil }
        self = instant
    }
}

extension WireDate: Codable {
    /// Reads the RFC 3339 text, where the decoder has no dates of its own.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let instant = WireDate(rfc3339: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a date that is not RFC 3339")
        }
        self = instant
    }

    /// Writes the RFC 3339 text, where the encoder has no dates of its own.
    public func encode(to encoder: any Encoder) throws {
        guard let text = rfc3339 else {
            let context = EncodingError.Context(
                codingPath: encoder.codingPath, debugDescription: "a date outside of the years 0 to 9999")
            throw EncodingError.invalidValue(self, context)
        }
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Seconds as a whole number, rounded down, and the decimal digits after the point.
enum DecimalSeconds {
    static func split(_ seconds: Double) -> (whole: Int, fraction: String) {
        // Most instants have no fraction.
        if let whole = Int(exactly: seconds) { return (whole, "") }
        // Cannot trap: callers ask only for what is finite and below 1e12.
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

    /// The magnitude of a number of seconds. Nil beyond 64 bits, and for digits beyond an attosecond.
    static func ticks(_ seconds: WireDecimal) -> (ticks: Int64, attoseconds: Int64)? {
        let (significant, exponent) = seconds.normalized
        let zeros = exponent + WireDate.maximumFractionDigits
        guard significant != "0" else { return (0, 0) }
        guard zeros >= 0, zeros + significant.utf8.count <= 32 else { return nil }
        let digits = [UInt8](significant.utf8) + [UInt8](repeating: 0x30, count: zeros)
        let padded = [UInt8](repeating: 0x30, count: max(0, 12 - digits.count)) + digits
        guard let ticks = Int64(text(padded.dropLast(11))), let rest = Int64(text(padded.suffix(11))) else {
            return nil
        }
        return (ticks, rest)
    }

    /// Decimal digits in ASCII, with zeros in front.
    static func padded(_ number: Int64, to count: Int) -> [UInt8] {
        var digits = [UInt8](repeating: 0x30, count: count)
        var rest = number
        for place in digits.indices.reversed() where rest > 0 {
            digits[place] = UInt8(0x30 + rest % 10)
            rest /= 10
        }
        return digits
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

    private static func text(_ digits: some Collection<UInt8>) -> String { String(decoding: digits, as: UTF8.self) }
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
