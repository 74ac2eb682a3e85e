import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct DecimalSortKeyTests {
    private let ascending = [
        "-1e999999", "-123456789012345678901234567890", "-10", "-9.99", "-9.9", "-1", "-0.1", "-0.01", "-1e-999999",
        "0",
        "1e-999999", "0.0999", "0.1", "0.10000000000000000000001", "0.11", "1", "1.01", "1.1", "9", "9.9", "10",
        "1e999999",
    ]

    @Test func `keys compare as the numbers do`() throws {
        let keys = try ascending.map { DecimalSortKey.bytes(of: try #require(WireDecimal($0))) }
        for (smaller, larger) in zip(keys, keys.dropFirst()) { #expect(smaller.lexicographicallyPrecedes(larger)) }
    }

    @Test(arguments: [("1.50", "1.5"), ("100", "1e2"), ("-0.0", "0"), ("0e5", "0"), ("-10", "-1e1")])
    func `equal numbers have equal keys`(left: String, right: String) throws {
        let keys = try [left, right].map { DecimalSortKey.bytes(of: try #require(WireDecimal($0))) }
        #expect(keys[0] == keys[1])
    }
}
