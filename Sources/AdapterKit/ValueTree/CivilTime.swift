/// A date and a time of day in UTC, in the proleptic Gregorian calendar, years 0 to 9999.
public struct CivilTime: Sendable, Equatable {
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
