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
