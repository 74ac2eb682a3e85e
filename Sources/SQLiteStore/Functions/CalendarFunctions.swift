import AdapterKit
import RecordStorage

/// Parts of instants (``InstantKey``, UTC), days (`2024-01-15`) and times of day (`09:30:00.5`).
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
                guard let start = arguments.instant(0), let end = arguments.instant(1) else { return .null }
                return .blob(DecimalSortKey.bytes(of: end.decimalSeconds(since: start)))
            },
            shifted("date_add") { $0 }, shifted("date_subtract") { -$0 },
            // Of a column that an earlier version wrote.
            .strict("instant", 1) { arguments in
                .blob(InstantKey.bytes(of: WireDate(secondsSinceReferenceDate: arguments.real(0))))
            },
        ]

    private static func part(_ name: String, _ read: @escaping @Sendable (CalendarDateTime) -> Int?) -> SQLFunction {
        .strict(name, 1) { arguments in
            CalendarDateTime(arguments).flatMap(read).map { .integer(Int64($0)) } ?? .null
        }
    }

    private static func shifted(
        _ name: String, _ seconds: @escaping @Sendable (ExactDecimal) -> ExactDecimal
    ) -> SQLFunction {
        .strict(name, 2) { arguments in
            guard let start = arguments.instant(0), let step = arguments.decimal(1),
                let instant = start.adding(decimalSeconds: seconds(step).wire), instant.isInCalendar
            else { return .null }
            return .blob(InstantKey.bytes(of: instant))
        }
    }
}

extension SQLArguments {
    /// The instant of a key.
    func instant(_ position: Int) -> WireDate? { withBytes(position) { InstantKey.instant($0) } }
}

/// The input of a calendar function: a day, a time of day, or both; years 0 to 9999.
struct CalendarDateTime {
    private(set) var year: Int?, month: Int?, day: Int?
    private(set) var hour: Int?, minute: Int?, second: Int?
    /// The fraction of a second: decimal digits after the point.
    private(set) var fraction = ""
    private let source: Substring

    /// The first argument: an instant or a text.
    init?(_ arguments: SQLArguments) {
        if arguments.type(0) == SQLType.text {
            self.init(text: arguments.text(0))
        } else {
            guard let text = arguments.instant(0)?.rfc3339 else { return nil }
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
