import AdapterKit
import Testing

@Suite struct PorticoErrorTests {
    @Test func `of an internal error callers get one message, and the log has the rest`() {
        let error = PorticoError(
            .serverInternal, "The collection a/b is not installed.", target: "b", retryAfter: 3, logDetail: "row 7")
        #expect(error.message == "Something went wrong on the server." && error.target == nil && error.retryAfter == 3)
        #expect(error.logDetail == "The collection a/b is not installed.; b; row 7")
        let again = PorticoError(.serverInternal, error.message, logDetail: error.logDetail)
        #expect(again.message == error.message && again.logDetail == error.logDetail)
    }

    @Test func `a time to try again that has passed is none, and the log has it`() {
        let error = PorticoError(.overloaded, "Later.", retryAfter: -5)
        #expect(error.retryAfter == nil && error.logDetail == "retryAfter was -5")
        #expect(PorticoError(.overloaded, "Later.", retryAfter: .max).retryAfter == 2_147_483_647)
        #expect(PorticoError(.overloaded, "Later.", retryAfter: 0).retryAfter == 0)
    }

    @Test func `every other error has the message that it was made with`() {
        for code in ErrorCode.allCases where code != .serverInternal {
            let error = PorticoError(code, "This is wrong.", target: "a")
            #expect(error.message == "This is wrong." && error.target == "a" && error.logDetail == nil)
        }
    }
}
