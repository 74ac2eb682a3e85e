import Foundation
import Testing
import ValueTree
import WireFormats

@testable import Client

@Suite("An OData value")
struct ODataValueTests {
    /// Through the bytes of JSON, as a server would give it back.
    private func roundTrip<Value: ODataPrimitive>(_ value: Value, _ version: ODataVersion) throws -> Value? {
        let bytes = try JSONFormat().write(["value": value.json(version)])
        return Value(odata: try #require(try JSONFormat().read(bytes)["value"]))
    }

    @Test("is the same after it went to a server and came back", arguments: [ODataVersion.v2, .v4])
    func roundTrips(_ version: ODataVersion) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let number = Int64.random(in: .min ... .max, using: &random)
            #expect(try roundTrip(number, version) == number)
            let decimal = Decimal(number) / pow(Decimal(10), Int.random(in: 0..<12))
            #expect(try roundTrip(decimal, version) == decimal, "\(decimal)")
            let double = Double(bitPattern: UInt64.random(in: .min ... .max, using: &random))
            if double.isFinite { #expect(try roundTrip(double, version) == double) }
            let float = Float.random(in: -1e6...1e6, using: &random)
            #expect(try roundTrip(float, version) == float)
            let bytes = Data((0..<Int.random(in: 0..<40)).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            #expect(try roundTrip(bytes, version) == bytes)
            let local = ODataLocalDateTime(
                seconds: Int.random(in: -9_000_000_000...9_000_000_000, using: &random),
                nanoseconds: Int.random(in: 0..<1000) * 1_000_000)
            #expect(try roundTrip(local, version) == local)
            #expect(try roundTrip(local.date, version) == local.date)
            let moment = ODataDateTime(utc: local, offset: Int.random(in: -840...840, using: &random))
            #expect(try roundTrip(moment, version) == moment)
            let time = ODataTimeOfDay(
                hour: .random(in: 0..<24), minute: .random(in: 0..<60), second: .random(in: 0..<60),
                nanoseconds: .random(in: 0..<1_000_000_000))!
            #expect(try roundTrip(time, version) == time)
            let length = Duration.nanoseconds(Int64.random(in: .min ... .max, using: &random))
            #expect(try roundTrip(length, version) == length)
        }
        for special in [Double.infinity, -.infinity] { #expect(try roundTrip(special, version) == special) }
        #expect(try roundTrip(UUID(), version) != nil && roundTrip("O'Neil \u{0}\n", version) == "O'Neil \u{0}\n")
    }

    @Test("that is a decimal is exact, or is not read")
    func decimals() throws {
        for text in [
            "3.1", "0.1", "12345678901234567890.123456789012345678", "-0.000000000000000000000000000001", "1e3",
        ] {
            let json = try JSONFormat().read(Array(text.utf8))
            let read = try #require(Decimal(odata: json))
            #expect(WireDecimal(read.plainText) == WireDecimal(text), "\(text) is \(read.plainText)")
            #expect(Decimal(odata: .string(text)) == read)
        }
        let long = "1." + String(repeating: "3", count: 60)
        #expect(Decimal(odata: try JSONFormat().read(Array(long.utf8))) == nil)
        #expect(Decimal(written: 3.1).plainText == "3.1")
    }

    @Test("that is a moment keeps its zone and its fraction")
    func moments() throws {
        for text in [
            "2026-11-21T12:00:00.123456789012+05:30", "2026-06-24T12:57:44.7570874Z", "2026-11-21T12:00:00Z",
            "0001-01-01T00:00:00-12:00",
        ] {
            #expect(ODataDateTime(odata: .string(text))?.text == text)
        }
        let sap = try #require(ODataDateTime(odata: "/Date(1795262400123+0330)/"))
        #expect(sap.offset == 330 && sap.text == "2026-11-21T17:30:00.123+05:30")
        #expect(ODataLocalDateTime(odata: "/Date(-1)/")?.text == "1969-12-31T23:59:59.999")
        let date = Date(timeIntervalSinceReferenceDate: -1.25)
        #expect(ODataDateTime(date).date == date && ODataDateTime(date).text == "2000-12-31T23:59:58.75Z")
        for wrong in ["2026-02-30T00:00:00Z", "2026-11-21", "2026-11-21T25:00:00Z", "/Date(x)/", "2026-11-21T1+", ""] {
            #expect(ODataDateTime(odata: .string(wrong)) == nil, "\(wrong)")
        }
        #expect(ODataTimeOfDay(odata: "PT13H20M0.5S")?.text == "13:20:00.5")
        #expect(ODataTimeOfDay(odata: "13:20:00.123456789012")?.text == "13:20:00.123456789012")
        #expect(Duration(odata: "-P1DT2H3M4.5S") == .zero - .seconds(93_784) - .milliseconds(500))
        for wrong in ["P", "PT5", "5S", "PT-5S", "P1.5D"] where wrong != "P" {
            #expect(Duration(isoText: wrong) == nil)
        }
    }

    @Test("that is of another type than the model says is not taken for one")
    func strangers() {
        #expect(Int16(odata: 70_000) == nil && Int16(odata: 1.5) == nil && Int16(odata: 5.0) == 5)
        #expect(Bool(odata: "true") == nil && UUID(odata: "x") == nil && Int64(odata: "12") == 12)
    }
}
