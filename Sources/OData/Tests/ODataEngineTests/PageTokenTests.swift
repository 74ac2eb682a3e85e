import AdapterKit
import Testing

@testable import ODataEngine

@Suite
struct PageTokenTests {
    @Test func `values come back as they were, whatever they hold`() throws {
        let values: [WireValue] = [
            .null, true, false, -7, .double(0.1), .double(-.infinity), .decimal(try #require(WireDecimal("-12.340"))),
            .date(WireDate(secondsSinceReferenceDate: 0.1)),
            .date(try #require(WireDate(rfc3339: "0000-12-30T00:00:00.123456789012Z"))), "a\u{1F}b\0ä", "",
            .data([0, 31, 255]),
        ]
        for remaining in [nil, 0, 12] {
            let token = PageToken(values: values, remaining: remaining)
            #expect(PageToken(try #require(token.text)) == token)
        }
    }

    @Test(arguments: ["", "?", "AAAA", "aXg", "LTUfbg", "H3E", "aaaaaaaaaaaaaaaa"])
    func `what is no token is refused`(text: String) {
        let token = PageToken(text)
        #expect(token == nil || token?.values.isEmpty == true)
    }

    @Test func `lists are not ordered`() {
        #expect(PageToken(values: [[1]], remaining: nil).text == nil)
    }
}
