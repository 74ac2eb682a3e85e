import AdapterKit
import RecordStorage
import Testing

@Suite struct RelationFunctionTests {
    @Test(
        arguments: [
            (RowFunction.contains, ["häuser", "us"], true), (.contains, ["a", ""], true),
            (.endsWith, ["häuser", "er"], true),
            (.endsWith, ["r", "er"], false), (.startsWith, ["häuser", "hä"], true), (.length, ["hä\u{1F600}"], 3),
            (.indexOf, ["abc", "c"], 2), (.indexOf, ["abc", "x"], -1), (.substring, ["abc", 1], "bc"),
            (.substring, ["abc", 1, 1], "b"), (.substring, ["abc", -2], "bc"), (.substring, ["abc", 9], ""),
            (.replace, ["abab", "ab", "b"], "bb"), (.replace, ["aä", "ä", ""], "a"), (.replace, ["a", "", "x"], "a"),
            (
                .replace,
                [.string(String(repeating: "a", count: 2_000)), "a", .string(String(repeating: "b", count: 600))], .null
            ),
            (.substring, ["abc", -9, 2], "ab"), (.lowercase, ["ÄB"], "äb"), (.uppercase, ["äß"], "ÄSS"),
            (.trim, [" \u{A0}a b\t"], "a b"), (.concatenate, ["a", "b", "c"], "abc"),
            (.matches, ["Laptop", "^L.*p$"], true),
            (.matches, ["Laptop", "^(a|b)+$"], false), (.matches, ["aab", "^(a|b){3}$"], true), (.bits, [6, 3], 2),
            (.contains, [.null, "a"], .null), (.round, [2.5], 3.0), (.round, [-2.5], -3.0), (.floor, [-1.5], -2.0),
            (.ceiling, [1.2], 2.0), (.round, [7], 7), (.negate, [3], -3),
        ] as [(RowFunction, [WireValue], WireValue)])
    func `texts and numbers`(function: RowFunction, arguments: [WireValue], expected: WireValue) async throws {
        let library = try await Library(books: [])
        #expect(try await library.value(.call(function, arguments.map { .value($0) })) == expected)
    }

    @Test(
        arguments: [
            (RowFunction.year, ["2024-02-29"], 2024), (.month, ["2024-02-29"], 2), (.day, ["2024-02-29"], 29),
            (.hour, ["09:30:01.25"], 9), (.second, ["09:30:01.25"], 1),
            (.fractionalSecond, ["09:30:01.25"], .decimal("0.25")),
            (.year, [.date(WireDate(rfc3339: "1999-12-31T23:59:59.5Z")!)], 1999),
            (.fractionalSecond, [.date(WireDate(rfc3339: "1999-12-31T23:59:59.5Z")!)], .decimal("0.5")),
            (.dayOf, [.date(WireDate(rfc3339: "1999-12-31T23:59:59.5Z")!)], "1999-12-31"),
            (.timeOf, [.date(WireDate(rfc3339: "1999-12-31T23:59:59.5Z")!)], "23:59:59.5"),
            (.dayPlus, ["2024-02-28", 172_800], "2024-03-01"),
            (.dayDifference, ["2024-03-01", "2024-02-28"], .decimal("172800")),
            (.toText, [true], "true"), (.toInteger, ["12"], 12), (.toInteger, ["x"], .null), (.toDouble, [2], 2.0),
            (.toDecimal, ["1.50"], .decimal("1.5")), (.hasSubset, [[1, 2, 2], [2, 2]], true),
            (.hasSubset, [[1, 2], [2, 2]], false),
            (.hasSubsequence, [[1, 2, 3], [1, 3]], true), (.hasSubsequence, [[1, 2, 3], [3, 1]], false),
            (.count, [[1, 2]], 2),
        ] as [(RowFunction, [WireValue], WireValue)])
    func `calendar, kinds and lists`(function: RowFunction, arguments: [WireValue], expected: WireValue) async throws {
        let library = try await Library(books: [])
        #expect(try await library.value(.call(function, arguments.map { .value($0) })) == expected)
    }

    @Test func `instants and seconds`() async throws {
        let library = try await Library(books: [])
        let from = RowExpression.value(.date(WireDate(rfc3339: "2024-01-15T10:30:00.123456Z")!))
        let to = RowExpression.value(.date(WireDate(rfc3339: "2024-01-16T10:30:00.123457Z")!))
        #expect(try await library.value(.arithmetic(.subtract, to, from)) == .decimal("86400.000001"))
        let later = RowExpression.arithmetic(.add, from, .value(.decimal("86400.000001")))
        #expect(try await library.value(.same(later, to)) == true)
        let tick = RowExpression.value(.date(WireDate(rfc3339: "2024-01-15T10:30:00.1234561Z")!))
        #expect(try await library.value(.arithmetic(.subtract, from, tick)) == .decimal("-0.0000001"))
        #expect(
            try await library.value(.same(.arithmetic(.subtract, tick, .value(.decimal("0.0000001"))), from)) == true)
        let last = RowExpression.value(.date(WireDate(rfc3339: "9999-12-31T23:59:59.9999999Z")!))
        #expect(try await library.value(.arithmetic(.add, last, .value(.decimal("0.0000001")))) == .null)
    }

    @Test func `places`() async throws {
        let library = try await Library(books: [])
        func point(_ longitude: Double, _ latitude: Double) -> RowExpression {
            .value(["type": "Point", "coordinates": [.double(longitude), .double(latitude)]])
        }
        let quarter = try await library.value(.call(.distance, [point(0, 0), point(90, 0)])).doubleValue
        #expect(abs(try #require(quarter) - 10_007_557) < 1)
        let square: WireValue = ["type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]]
        #expect(try await library.value(.call(.intersects, [point(1, 1), .value(square)])) == true)
        #expect(try await library.value(.call(.intersects, [point(5, 1), .value(square)])) == false)
        let other: WireValue = ["type": "Polygon", "coordinates": [[[3, -1], [9, -1], [9, 9], [3, 9], [3, -1]]]]
        let far: WireValue = ["type": "Polygon", "coordinates": [[[5, 5], [6, 5], [6, 6], [5, 5]]]]
        #expect(try await library.value(.call(.intersects, [.value(other), .value(square)])) == true)
        #expect(try await library.value(.call(.intersects, [.value(far), .value(square)])) == false)
    }

    @Test func `a pattern that would make backtracking explode is answered`() async throws {
        let library = try await Library(books: [])
        let text = String(repeating: "a", count: 5000)
        let call = RowExpression.call(.matches, [.value(.string(text)), .value("^(a+)+b$")])
        #expect(try await library.value(call) == false)
    }
}
