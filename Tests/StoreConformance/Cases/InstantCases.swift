import AdapterKit
import RecordStorage

extension StoreConformance {
    static let instantCases = [instants(count: 500)]

    /// So many random instants of all years: read, filtered, ordered, paged and computed with, against exact arithmetic.
    public static func instants(count: Int) -> ConformanceCase {
        ConformanceCase("instants of all years are read, filtered, ordered and computed with exactly") { store in
            var run = InstantRun(store: store, random: SeededRandom(seed: 362))
            try await run.write(count)
            try await run.check()
        }
    }
}

/// Random instants of the years 0000 to 9999 with up to ten digits of a second, in a store, against their texts: written
/// with ten digits they compare as the instants do.
struct InstantRun: Sendable {
    private let store: any Store
    private var random: SeededRandom
    private var instants: [ExactInstant] = []

    init(store: any Store, random: SeededRandom) {
        (self.store, self.random) = (store, random)
    }

    /// One instant in whole seconds since 2001 and in units of 10⁻¹⁰ seconds.
    struct ExactInstant: Sendable {
        static let first = -63_145_526_400
        static let end = 252_423_993_600
        static let units = 10_000_000_000

        let id: String
        let seconds: Int
        let fraction: Int

        var digits: String {
            let text = String(fraction)
            return String(repeating: "0", count: 10 - text.utf8.count) + text
        }

        var civil: CivilTime {
            // Cannot trap: within the calendar.
            CivilTime(secondsSinceReferenceDate: seconds)!
        }

        /// Compares, as text, like the instant.
        var key: String { "\(civil).\(digits)" }

        /// As RFC 3339 has it without zeros at the end.
        var text: String {
            var digits = digits
            while digits.hasSuffix("0") { digits.removeLast() }
            return digits.isEmpty ? "\(civil)Z" : "\(civil).\(digits)Z"
        }

        var value: WireValue { WireDate(rfc3339: text).map { .date($0) } ?? .null }
    }

    /// Those that every system meets, and random ones: a fifth of this year, some beside each other.
    mutating func write(_ count: Int) async throws {
        let special = [
            (ExactInstant.first, 0), (ExactInstant.first, 1), (-63_114_076_800, 0),
            (ExactInstant.end - 1, 9_999_999_999), (0, 0),
            (-1, 9_999_999_999),
            (ExactInstant.end - 1, 9_999_990_000), (803_998_664, 7_570_874_000), (694_569_599, 9_999_999_990),
            (694_569_600, 0),
        ]
        for (seconds, fraction) in special { add(seconds, fraction) }
        while instants.count < count {
            let isNear = Int.random(in: 0..<5, using: &random) == 0
            let seconds =
                isNear
                ? Int.random(in: 789_000_000..<820_000_000, using: &random)
                : Int.random(in: ExactInstant.first..<ExactInstant.end, using: &random)
            let unit =
                [1, 1, 10, 1_000, 1_000, 10_000, 10_000_000, ExactInstant.units].randomElement(using: &random) ?? 1
            let fraction = Int.random(in: 0..<ExactInstant.units, using: &random) / unit * unit
            add(seconds, fraction)
            if fraction < ExactInstant.units - 1, isNear { add(seconds, fraction + 1) }
        }
        for start in stride(from: 0, to: instants.count, by: 500) {
            let part = instants[start..<min(start + 500, instants.count)]
            _ = try await store.own.apply(
                part.map { instant in
                    RecordChange(
                        "items",
                        .create(
                            nil,
                            [
                                "id": .string(instant.id), "name": "m", "at": instant.value,
                                "extra": ["at": instant.value],
                            ]))
                })
        }
    }

    private mutating func add(_ seconds: Int, _ fraction: Int) {
        instants.append(ExactInstant(id: "m\(instants.count)", seconds: seconds, fraction: fraction))
    }

    func check() async throws {
        try await checkOrder()
        var run = self
        try await run.checkFilters()
        try await run.checkFunctions()
    }

    /// Page by page, forwards and backwards.
    private func checkOrder() async throws {
        let ordered = instants.sorted { ($0.key, $0.id) < ($1.key, $1.id) }
        for descending in [false, true] {
            var query = Query(order: [SortKey("at", descending: descending)], limit: 1_000)
            var found: [Record] = []
            while true {
                let page = try await store.own.query(query, in: "items")
                found += page.records
                guard let next = page.next else { break }
                query.start = .after(next)
            }
            let expected = descending ? ordered.reversed() : ordered
            try expectEqual(found.map(\.id.text), expected.map(\.id), "the order")
            for (record, instant) in zip(found, expected) {
                try expectEqual(record["at"].dateValue?.rfc3339, instant.text, "an instant")
                try expectEqual(record["extra"]["at"]?.dateValue?.rfc3339, instant.text, "an instant within a value")
            }
        }
    }

    /// Of instants that are there, and of some that are a digit beyond them.
    private mutating func checkFilters() async throws {
        for round in 0..<24 {
            let instant = round < 10 ? instants[round] : instants[Int.random(in: 0..<instants.count, using: &random)]
            let isBeyond = round.isMultiple(of: 3)
            let literal = isBeyond ? WireDate(rfc3339: "\(instant.key)01Z") : WireDate(rfc3339: "\(instant.key)Z")
            let bound = instant.key + (isBeyond ? "01" : "")
            guard let literal else { throw ConformanceFailure(description: "\(bound) is no instant") }
            for comparison in Comparison.allCases {
                let expected = instants.count { Self.holds(comparison, $0.key, bound) }
                let found = try await store.own.count(.compare("at", comparison, .date(literal)), in: "items")
                try expectEqual(found, expected, "\(comparison) \(bound)")
            }
            let among = try await store.own.count(.oneOf("at", [.date(literal)]), in: "items")
            try expectEqual(among, instants.count { $0.key == bound }, "one of \(bound)")
        }
    }

    private static func holds(_ comparison: Comparison, _ left: String, _ right: String) -> Bool {
        switch comparison {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }

    /// Parts, differences and sums of every instant.
    private mutating func checkFunctions() async throws {
        let other = instants[Int.random(in: 10..<instants.count, using: &random)]
        let at = RowExpression.field(1, "at")
        let step = try required(WireDecimal("1.0000000001"))
        let parts: [RowFunction] = [.year, .month, .day, .hour, .minute, .second, .fractionalSecond, .dayOf, .timeOf]
        let relation = Relation(
            .records("items", as: 1),
            columns: [.field(1, "id")] + parts.map { .call($0, [at]) } + [
                .arithmetic(.subtract, at, .value(other.value)), .arithmetic(.add, at, .value(.decimal(step))),
                .arithmetic(.subtract, at, .value(.decimal(step))),
            ])
        let rows = try await store.own.withReadSnapshot { try $0.rows(relation) }
        try expectEqual(rows.count, instants.count, "the rows")
        let byID = Dictionary(instants.map { ($0.id, $0) }) { first, _ in first }
        for row in rows {
            let instant = try required(row[0].stringValue.flatMap { byID[$0] })
            let civil = instant.civil
            let numbers = [civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second]
            try expectEqual(row[1...6].map(\.int64Value), numbers.map { Int64($0) }, "the parts of \(instant.text)")
            try expectEqual(row[7].decimalValue, WireDecimal("0.\(instant.digits)"), "the fraction of \(instant.text)")
            let text = String(instant.text.dropLast())
            try expectEqual(row[8].stringValue, String(text.prefix(10)), "the day of \(instant.text)")
            try expectEqual(row[9].stringValue, String(text.dropFirst(11)), "the time of \(instant.text)")
            let difference = Self.difference(instant, other)
            try expectEqual(row[10].decimalValue, difference, "\(instant.text) less \(other.text)")
            for (place, sign) in [(11, 1), (12, -1)] {
                let units = instant.fraction + sign
                let seconds = instant.seconds + sign + (units < 0 ? -1 : units >= ExactInstant.units ? 1 : 0)
                let shifted = ExactInstant(
                    id: "", seconds: seconds, fraction: (units + ExactInstant.units) % ExactInstant.units)
                let isThere = (ExactInstant.first..<ExactInstant.end).contains(seconds)
                try expectEqual(row[place].dateValue?.rfc3339, isThere ? shifted.text : nil, "\(instant.text) shifted")
            }
        }
    }

    private static func difference(_ left: ExactInstant, _ right: ExactInstant) -> WireDecimal? {
        var (seconds, units) = (left.seconds - right.seconds, left.fraction - right.fraction)
        let isNegative = seconds < 0 || seconds == 0 && units < 0
        if isNegative { (seconds, units) = (-seconds, -units) }
        if units < 0 { (seconds, units) = (seconds - 1, units + ExactInstant.units) }
        let magnitude = ExactInstant(id: "", seconds: 0, fraction: units).digits
        return WireDecimal("\(isNegative ? "-" : "")\(seconds).\(magnitude)")
    }

    private func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw ConformanceFailure(description: "a value is missing") }
        return value
    }
}
