import AdapterKit
import ODataLanguage
import ODataModel
import Testing

@Suite
struct Version2LiteralTests {
    @Test(arguments: [
        ("null", Literal.null), ("true", .boolean(true)), ("false", .boolean(false)),
        ("12", .number("12", suffix: nil)),
        ("-12L", .number("-12", suffix: .long)), ("1.50M", .number("1.50", suffix: .decimal)),
        ("1.5e-3d", .number("1.5e-3", suffix: .double)), ("2f", .number("2", suffix: .single)),
        ("12l", .number("12", suffix: .long)), ("NaN", .notANumber), ("-INF", .infinity(negative: true)),
        ("'it''s'", .string("it's")), ("''", .string("")), ("'å'", .string("å")), ("X'0aFF'", .binary([10, 255])),
        ("binary''", .binary([])),
        ("guid'0A0B0C0D-0000-0000-0000-00000000000F'", .guid("0a0b0c0d-0000-0000-0000-00000000000f")),
        ("datetime'2024-01-15T10:30'", .dateTimeOffset("2024-01-15T10:30:00Z")),
        ("datetime'2024-01-15T10:30:05.25'", .dateTimeOffset("2024-01-15T10:30:05.25Z")),
        ("datetimeoffset'2024-01-15T10:30:00+02:00'", .dateTimeOffset("2024-01-15T10:30:00+02:00")),
        ("datetimeoffset'2024-01-15T10:30Z'", .dateTimeOffset("2024-01-15T10:30:00Z")),
        ("time'PT13H20M'", .timeOfDay("13:20:00")), ("time'PT0.50S'", .timeOfDay("00:00:00.5")),
    ])
    func `each form of version 2 becomes a literal of the common tree`(text: String, literal: Literal) {
        #expect(Version2Literal.read(text) == literal)
    }

    @Test(arguments: [
        "", "'", "'a", "'a'b", "nul", "True", "1x", "1.", ".5", "--1", "1e", "L", "X'0'", "X'0G'", "guid'0a'",
        "datetime'2024-02-30T00:00'", "datetime'2024-01-15'", "datetimeoffset'2024-01-15T10:30:00'", "time'13:20'",
        "time'PT24H'", "time'P1D'", "time'PT'", "time'PT1H2'", "duration'PT1H'", "datetime'", "name",
    ])
    func `what is none is refused`(text: String) {
        #expect(Version2Literal.read(text) == nil)
    }

    @Test func `a literal is taken for what the property's type needs`() {
        let midnight = Literal.dateTimeOffset("2024-01-15T00:00:00Z")
        #expect(midnight.version2Meaning(for: .date) == .date("2024-01-15"))
        #expect(Literal.dateTimeOffset("2024-01-15T10:00:00Z").version2Meaning(for: .date) == nil)
        #expect(midnight.version2Meaning(for: .dateTimeOffset) == midnight)
        #expect(Literal.string("PT5M").version2Meaning(for: .duration) == .duration("PT5M"))
        #expect(Literal.number("1", suffix: nil).version2Meaning(for: .boolean) == .boolean(true))
    }
}
