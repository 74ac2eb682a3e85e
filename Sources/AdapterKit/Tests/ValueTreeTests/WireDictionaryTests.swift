import Testing
import ValueTree

@Suite struct WireDictionaryTests {
    @Test func `keys compare by bytes, so composed and decomposed letters are two keys`() {
        let members: WireDictionary = ["\u{e9}": 1, "e\u{301}": 2]
        #expect(members["\u{e9}"] == 1)
        #expect(members["e\u{301}"] == 2)
    }

    @Test(arguments: [3, 40]) func `order is the order of insertion, with and without the index`(count: Int) {
        var members = WireDictionary()
        for number in (0..<count).reversed() { members["k\(number)"] = .int64(Int64(number)) }
        members["k1"] = nil
        members["k1"] = "again"
        #expect(members.keys == (0..<count).reversed().filter { $0 != 1 }.map { "k\($0)" } + ["k1"])
        #expect(members["k0"] == 0)
        #expect(members["k1"] == "again")
    }

    @Test func `equal keys are refused where they must be distinct`() {
        #expect(WireDictionary(uniqueKeys: [.init(key: "a", value: 1), .init(key: "a", value: 2)]) == nil)
    }
}

@Suite struct WireDecimalTests {
    @Test(arguments: [
        "0", "-1", "1.50", "0.000001", "123456789012345678901234567890", "99999999999999999999.999999999999999999",
        "1e400", "-12e-60",
    ])
    func `a number is written as it was read`(text: String) throws {
        #expect(try #require(WireDecimal(text)).description == text)
    }

    @Test(arguments: ["", "-", "01", "1.", ".5", "1e", "1e+", "0x1", "1 ", "NaN", "1e9999999"])
    func `what is no number is refused`(text: String) {
        #expect(WireDecimal(text) == nil)
    }

    @Test func `equality is by value`() {
        #expect(WireDecimal("1.50") == WireDecimal("15e-1"))
        #expect(WireDecimal("-0") == WireDecimal("0.00"))
        #expect(WireDecimal("1") != WireDecimal("-1"))
    }
}
