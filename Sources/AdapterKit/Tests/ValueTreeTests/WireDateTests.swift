import Testing
import ValueTree

@Suite struct WireDateTests {
    @Test(arguments: [
        (0.0, "2001-01-01T00:00:00Z"), (-0.5, "2000-12-31T23:59:59.5Z"), (-1, "2000-12-31T23:59:59Z"),
        (-0.25, "2000-12-31T23:59:59.75Z"), (0.001, "2001-01-01T00:00:00.001Z"), (1e-7, "2001-01-01T00:00:00.0000001Z"),
        (694_224_000.123, "2023-01-01T00:00:00.123Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
        (252_423_993_599, "9999-12-31T23:59:59Z"), (-63_145_526_400, "0000-01-01T00:00:00Z"),
        (94_607_999, "2003-12-31T23:59:59Z"), (99_705_600, "2004-02-29T00:00:00Z"),
    ])
    func `an instant is written with the shortest fraction and read back`(seconds: Double, text: String) {
        #expect(WireDate(secondsSinceReferenceDate: seconds).rfc3339 == text)
        #expect(WireDate(rfc3339: text)?.secondsSinceReferenceDate.bitPattern == seconds.bitPattern)
    }

    @Test(arguments: [
        ("2001-01-01T02:00:00+02:00", 0.0), ("2000-12-31t19:30:00.5-04:30", 0.5), ("2001-01-01T00:00:00.500z", 0.5),
        ("2001-01-01T00:00:00-00:00", 0),
    ])
    func `offsets and lower case are honoured`(text: String, seconds: Double) {
        #expect(WireDate(rfc3339: text)?.secondsSinceReferenceDate == seconds)
    }

    @Test(arguments: [
        "", "2001-01-01", "2001-01-01T00:00:00", "2001-01-01 00:00:00Z", "2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z",
        "2001-01-01T24:00:00Z", "2001-01-01T00:00:60Z", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00+24:00",
        "2001-01-01T00:00:00+0200", "2001-1-1T00:00:00Z", "2001-01-01T00:00:00ZZ", "１001-01-01T00:00:00Z",
    ])
    func `what is no RFC 3339 text is refused`(text: String) {
        #expect(WireDate(rfc3339: text) == nil)
    }

    @Test(arguments: [Double.infinity, .nan, 252_423_993_600, -63_145_526_401, 1e300])
    func `an instant outside of four-digit years has no text`(seconds: Double) {
        #expect(WireDate(secondsSinceReferenceDate: seconds).rfc3339 == nil)
    }

    @Test func `twenty thousand random doubles survive bit by bit`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let seconds = Double.random(in: -6e10...2e11, using: &random) * [1, 1e-3].randomElement()!
            let text = WireDate(secondsSinceReferenceDate: seconds).rfc3339
            #expect(text.flatMap(WireDate.init(rfc3339:))?.secondsSinceReferenceDate == seconds)
        }
    }

    @Test(arguments: [
        "2026-06-24T12:57:44.7570874Z", "9999-12-31T23:59:59.999999Z", "0000-12-30T00:00:00Z",
        "2023-01-04T23:59:59.999999999Z", "0000-01-01T00:00:00.000000000000000001Z",
        "9999-12-31T23:59:59.999999999999999999Z", "2000-12-31T23:59:59.9999999Z",
    ])
    func `every digit up to an attosecond is kept`(text: String) {
        #expect(WireDate(rfc3339: text)?.rfc3339 == text)
        #expect(
            WireDate(rfc3339: text.dropLast() + (text.contains(".") ? "000000000000000000Z" : ".0Z"))?.rfc3339 == text)
    }

    @Test func `a digit beyond an attosecond is refused, not cut off`() {
        #expect(WireDate(rfc3339: "2026-06-24T12:57:44.1234567890123456789Z") == nil)
    }

    @Test func `an instant that no double is has the nearest one, and says so`() throws {
        let odd = try #require(WireDate(rfc3339: "2026-06-24T12:57:44.7570874Z"))
        #expect(odd.secondsSinceReferenceDate == 803_998_664.7570873 && !odd.isExactAsDouble)
        let even = try #require(WireDate(rfc3339: "2026-06-24T12:57:44.7570873Z"))
        #expect(even.secondsSinceReferenceDate == 803_998_664.7570873 && even.isExactAsDouble)
        #expect(even < odd && even != odd)
        #expect(WireDate(secondsSince1970: 1_363_896_240.5).secondsSince1970 == 1_363_896_240.5)
        #expect(WireDate(secondsSince1970: 1, nanoseconds: 123_456_789).rfc3339 == "1970-01-01T00:00:01.123456789Z")
    }

    @Test(arguments: [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0000001Z", "0.0000001"),
        ("0000-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "315569519999.9999999"),
        ("2000-12-31T23:59:59.75Z", "2001-01-01T00:00:00.25Z", "0.5"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "0"),
    ])
    func `differences and sums are exact`(early: String, late: String, seconds: String) throws {
        let (early, late) = (try #require(WireDate(rfc3339: early)), try #require(WireDate(rfc3339: late)))
        let seconds = try #require(WireDecimal(seconds))
        #expect(late.decimalSeconds(since: early) == seconds && early.decimalSeconds(since: late) == seconds.negated)
        #expect(early.adding(decimalSeconds: seconds) == late && late.adding(decimalSeconds: seconds.negated) == early)
    }

    @Test(arguments: ["1e30", "-1e30", "1e-19", "9300000000000"])
    func `what leads out of the instants that there are has no sum`(seconds: String) throws {
        #expect(WireDate.referenceDate.adding(decimalSeconds: try #require(WireDecimal(seconds))) == nil)
    }

    @Test(arguments: [(0, "44"), (3, "44.757"), (6, "44.757087"), (7, "44.7570874"), (12, "44.7570874")])
    func `an instant is cut to a precision`(count: Int, seconds: String) throws {
        let instant = try #require(WireDate(rfc3339: "2026-06-24T12:57:44.7570874Z"))
        #expect(instant.cut(toFractionDigits: count).rfc3339 == "2026-06-24T12:57:\(seconds)Z")
    }
}

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("~~~?", "fn5+Pw=="),
    ])
    func `the examples of RFC 4648 hold both ways`(data: String, text: String) {
        #expect(String(decoding: Base64.encode(Array(data.utf8)), as: UTF8.self) == text)
        #expect(Base64.decode(text) == Array(data.utf8))
    }

    @Test(arguments: ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm 9v", "Zm-_", "=Zm9"])
    func `anything but strict base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}

@Suite struct NarrowingTests {
    @Test(arguments: [
        ("5", WireValue.int64(5)), ("5.00", .int64(5)), ("18446744073709551615", .uint64(.max)),
        ("12.50", .double(12.5)),
        ("-9223372036854775808", .int64(.min)), ("1e3", .int64(1000)), ("0.1", .double(0.1)), ("1e30", .double(1e30)),
    ])
    func `a decimal narrows where nothing is lost`(text: String, expected: WireValue) throws {
        #expect(try #require(WireDecimal(text)).narrowed == expected)
    }

    @Test(arguments: ["18446744073709551617", "0.1234567890123456789", "1e400", "1e-400"])
    func `a decimal that would lose digits does not narrow`(text: String) throws {
        #expect(try #require(WireDecimal(text)).narrowed == nil)
    }
}
