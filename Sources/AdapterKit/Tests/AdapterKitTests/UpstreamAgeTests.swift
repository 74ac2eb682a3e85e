import AdapterKit
import Testing

@Suite struct UpstreamAgeTests {
    @Test(
        arguments: [
            ("0", 0), ("77", 77), ("2147483648", 2_147_483_647), ("18446744073709551616", 2_147_483_647),
            ("", 0), ("-1", 0), ("+5", 0), ("1.5", 0), ("old", 0),
        ] as [(String, Int)])
    func `the age of an answer is its seconds, and one that is too large the largest`(field: String, seconds: Int)
        throws
    {
        let response = UpstreamResponse(
            address: try #require(UpstreamAddress("https://hr.example/")), status: 200, fields: ["Age": field], body: []
        )
        #expect(response.age == .seconds(seconds))
    }
}
