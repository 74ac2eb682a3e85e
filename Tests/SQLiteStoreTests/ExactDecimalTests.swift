import AdapterKit
import Testing

@testable import SQLiteStore

/// Decimal arithmetic, by itself.
@Suite struct ExactDecimalTests {
    private func number(_ text: String) throws -> ExactDecimal { ExactDecimal(try #require(WireDecimal(text))) }

    @Test(arguments: [
        ("99", "99", "9801"), ("12345679", "9", "111111111"), ("-0.5", "0.2", "-0.1"), ("0", "7", "0"),
        ("5", "20", "100"),
    ])
    func `a product carries over every digit`(left: String, right: String, product: String) throws {
        #expect(try (number(left) * number(right)) == number(product))
    }

    @Test(arguments: [
        ("0.1", "0.2", "0.3"), ("999", "1", "1000"), ("5", "-7", "-2"), ("1000", "-1", "999"), ("-1", "1", "0"),
        ("1e3", "1e-3", "1000.001"),
    ])
    func `a sum is exact, whatever the signs and the exponents`(left: String, right: String, sum: String) throws {
        #expect(try (number(left) + number(right)) == number(sum))
    }

    @Test func `a quotient is rounded half away from zero, and there is none by zero`() throws {
        #expect(try ExactDecimal.quotient(number("1"), number("3"), digits: 3) == number("0.333"))
        #expect(try ExactDecimal.quotient(number("2"), number("3"), digits: 3) == number("0.667"))
        #expect(try ExactDecimal.quotient(number("-1"), number("8"), digits: 2) == number("-0.13"))
        #expect(try ExactDecimal.quotient(number("0"), number("8"), digits: 2) == .zero)
        #expect(try ExactDecimal.quotient(number("1"), .zero, digits: 2) == nil)
        #expect(try ExactDecimal.remainder(number("-7"), number("3")) == number("-1"))
        #expect(try ExactDecimal.remainder(number("7.5"), number("2")) == number("1.5"))
        #expect(try ExactDecimal.remainder(number("1"), .zero) == nil)
    }
}
