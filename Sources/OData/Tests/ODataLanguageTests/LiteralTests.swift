import ODataLanguage
import Testing

@Suite struct LiteralTests {
    @Test(arguments: [
        ("null", Literal.null),
        ("TRUE", .boolean(true)),
        ("-12", .number("-12", suffix: nil)),
        ("%2B3.50e%2B2", .number("3.50e+2", suffix: nil)),
        ("NaN", .notANumber),
        ("-INF", .infinity(negative: true)),
        ("'it''s'", .string("it's")),
        ("'%E2%82%AC'", .string("€")),
        ("0123ABCD-0123-4567-89ab-0123456789ab", .guid("0123abcd-0123-4567-89ab-0123456789ab")),
        ("2024-02-29", .date("2024-02-29")),
        ("09:30", .timeOfDay("09:30")),
        ("09:30:00.25", .timeOfDay("09:30:00.25")),
        ("2024-02-29T09:30z", .dateTimeOffset("2024-02-29T09:30Z")),
        ("2024-02-29T09:30:00%2B02:00", .dateTimeOffset("2024-02-29T09:30:00+02:00")),
        ("duration'-p1dt2h'", .duration("-P1DT2H")),
        ("binary'AQID'", .binary([1, 2, 3])),
        ("Shop.Color'Red,4'", .enumeration(WrittenName("Shop", "Color"), members: ["Red", "4"])),
        ("geography'SRID=4326;Point(1.5 -2)'", .geography(SpatialLiteral(srid: 4326, shape: .point([1.5, -2])))),
    ])
    func `a literal is recognised by its form`(text: String, literal: Literal) throws {
        #expect(try parsed("primitiveLiteral", text) == literal)
    }

    @Test(arguments: [
        ("guid", "01234567-89ab-cdef-01234-56789abcdef0", 23),
        ("date", "2024-13-01", 6),
        ("date", "2024-00-01", 6),
        ("timeOfDayValue", "09:61", 3),
        ("durationValue", "P", 1),
        ("durationValue", "PT", 2),
        ("durationValue", "P1S", 2),
        ("binaryValue", "AQJ", 3),
        ("primitiveLiteral", "'open", 5),
        ("primitiveLiteral", "'%FF'", 5),
        ("primitiveLiteral", "12ab", 4),
        ("primitiveLiteral", "%zz", 1),
        ("primitiveLiteral", "%4", 2),
    ])
    func `what is no literal is refused where it goes wrong`(rule: String, text: String, position: Int) throws {
        let found = try failure(rule, text)
        #expect(found == position)
    }

    @Test func `payloads and headers know no percent-encoding`() throws {
        #expect(try failure("timeOfDayLiteral", "09%3A30") == nil)
        #expect(try failure("timeOfDayValue", "09%3A30") == 2)
    }
}
