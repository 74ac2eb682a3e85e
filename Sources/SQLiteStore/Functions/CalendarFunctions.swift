import AdapterKit

/// Parts of instants (doubles, UTC), days (`2024-01-15`) and times of day (`09:30:00.5`).
enum CalendarFunctions {
    static let all: [SQLFunction] =
        [
            part("year") { $0.year }, part("month") { $0.month }, part("day") { $0.day },
            part("hour") { $0.hour }, part("minute") { $0.minute }, part("second") { $0.second },
        ] + [
            .strict("fractionalSecond", 1) { arguments in
                guard let dateTime = CalendarDateTime(arguments), let fraction = WireDecimal("0.\(dateTime.fraction)0")
                else {
                    return .null
                }
                return .blob(DecimalSortKey.bytes(of: fraction))
            },
            .strict("dayOf", 1) { arguments in CalendarDateTime(arguments).map { .text($0.dayText) } ?? .null },
            .strict("timeOf", 1) { arguments in CalendarDateTime(arguments).map { .text($0.timeText) } ?? .null },
            .strict("dayPlus", 2) { arguments in
                guard let day = CalendarDateTime(text: arguments.text(0)), let seconds = arguments.decimal(1)?.integer
                else { return .null }
                return day.adding(days: seconds / 86_400).map { .text($0) } ?? .null
            },
            .strict("dayDifference", 2) { arguments in
                guard let left = CalendarDateTime(text: arguments.text(0))?.dayStart,
                    let right = CalendarDateTime(text: arguments.text(1))?.dayStart
                else { return .null }
                return .blob(ExactDecimal(Int64(left - right)).key)
            },
            .strict("seconds_between", 2) { arguments in
                microseconds(arguments.real(1) - arguments.real(0)).map { .blob($0.key) } ?? .null
            },
            shifted("date_add", 1), shifted("date_subtract", -1),
        ]

    private static func part(_ name: String, _ read: @escaping @Sendable (CalendarDateTime) -> Int?) -> SQLFunction {
        .strict(name, 1) { arguments in
            CalendarDateTime(arguments).flatMap(read).map { .integer(Int64($0)) } ?? .null
        }
    }

    private static func shifted(_ name: String, _ sign: Double) -> SQLFunction {
        .strict(name, 2) { arguments in
            guard let seconds = arguments.decimal(1)?.double else { return .null }
            let instant = ((arguments.real(0) + sign * seconds) * 1e6).rounded() / 1e6
            // Beyond the calendar there is none.
            return WireDate(secondsSinceReferenceDate: instant).rfc3339 == nil ? .null : .real(instant)
        }
    }

    private static func microseconds(_ seconds: Double) -> ExactDecimal? {
        guard let count = Int64(exactly: (seconds * 1e6).rounded()) else { return nil }
        return ExactDecimal(Int64(count)) * ExactDecimal(isNegative: false, digits: [1], exponent: -6)
    }
}

/// What a calendar function reads: a day, a time of day, or both; years 0 to 9999.
struct CalendarDateTime {
    private(set) var year: Int?, month: Int?, day: Int?
    private(set) var hour: Int?, minute: Int?, second: Int?
    /// Of a second: decimal digits after the point.
    private(set) var fraction = ""
    private let source: Substring

    /// The first argument: an instant or a text.
    init?(_ arguments: SQLArguments) {
        if arguments.type(0) == SQLType.text {
            self.init(text: arguments.text(0))
        } else {
            guard let text = WireDate(secondsSinceReferenceDate: arguments.real(0)).rfc3339 else { return nil }
            self.init(text: String(text.dropLast()))
        }
    }

    /// `2024-01-15`, `09:30:00`, `09:30:00.5`, or a day, `T` and a time.
    init?(text: String) {
        source = text[...]
        let parts = text.split(separator: "T", maxSplits: 1)
        guard let first = parts.first, let last = parts.last else { return nil }
        if first.contains("-") {
            let numbers = first.split(separator: "-").map { Int($0) }
            guard numbers.count == 3 else { return nil }
            (year, month, day) = (numbers[0], numbers[1], numbers[2])
        }
        guard last.contains(":") else { return }
        let numbers = last.split(separator: ":")
        guard numbers.count == 3 else { return nil }
        let seconds = numbers[2].split(separator: ".")
        (hour, minute, second) = (Int(numbers[0]), Int(numbers[1]), seconds.first.flatMap { Int($0) })
        if seconds.count == 2 { fraction = String(seconds[1]) }
    }

    var dayText: String { String(source.prefix { $0 != "T" }) }
    var timeText: String { source.contains("T") ? String(source.drop { $0 != "T" }.dropFirst()) : String(source) }

    /// Seconds since 2001 at which the day begins.
    var dayStart: Int? {
        guard let year, let month, let day else { return nil }
        return CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)?.secondsSinceReferenceDate
    }

    /// Nil where that leaves the calendar.
    func adding(days: Int64) -> String? {
        guard let start = dayStart, days.magnitude < 4_000_000 else { return nil }
        let civil = CivilTime(secondsSinceReferenceDate: start + Int(days) * 86_400)
        return civil.map { String($0.description.prefix(10)) }
    }
}
