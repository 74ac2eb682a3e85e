import AdapterKit
import Testing

@testable import Upstream

@Suite struct TokenTableTests {
    private let start = ContinuousClock.now

    @Test func `one fetches and the others wait, then all use the token until shortly before it expires`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, "", 1, at: 0) == "fetch")
        #expect(step(&table, "", 2, at: 0) == "wait")
        #expect(step(&table, "", 3, at: 0) == "wait")
        let waiting = table.fetched(for: "", .success(try issued("t1", 100)), now: start)
        #expect(waiting == [2, 3])
        #expect(step(&table, "", 4, at: 89) == "use t1")
        #expect(step(&table, "", 5, at: 91) == "fetch")
    }

    @Test func `who gives up leaves the fetch to the next, and a refusal counts for a moment`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, "", 1, at: 0) == "fetch")
        #expect(step(&table, "", 2, at: 0) == "wait")
        #expect(table.fetched(for: "", nil, now: start) == [2])
        #expect(step(&table, "", 2, at: 0) == "fetch")
        let refused = UpstreamFailure(.credentialsRefused, of: "hr")
        #expect(table.fetched(for: "", .failure(refused), now: start).isEmpty)
        #expect(step(&table, "", 3, at: 0.5) == "fail credentialsRefused")
        #expect(step(&table, "", 4, at: 1.5) == "fetch")
    }

    @Test func `a token that is refused is fetched anew, a newer one stays`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, "", 1, at: 0) == "fetch")
        _ = table.fetched(for: "", .success(try issued("new", 100)), now: start)
        table.invalidate(Secret("old"), of: "")
        #expect(step(&table, "", 2, at: 0) == "use new")
        table.invalidate(Secret("new"), of: "")
        #expect(step(&table, "", 3, at: 0) == "fetch")
    }

    @Test func `each caller has a token of its own, and no more are kept than the limit`() throws {
        var table = TokenTable(limit: 3)
        for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
            #expect(step(&table, name, 1, at: 0) == "fetch")
            _ = table.fetched(for: name, .success(try issued(name, Double(100 + index))), now: start)
            #expect(table.count <= 3)
        }
        #expect(step(&table, "e", 2, at: 0) == "use e")
        #expect(step(&table, "a", 2, at: 0) == "fetch")
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"access_token":""}"#, #"{"access_token":"a b"}"#, #"{"access_token":"a\r\nX: y"}"#,
        #"{"access_token":"t","token_type":"mac"}"#, #"{"access_token":7}"#, "<html>",
    ])
    func `what is no token is refused`(body: String) {
        #expect(IssuedToken(Array(body.utf8)) == nil)
    }

    @Test(arguments: [("1e400", 300.0), ("-5", 300), ("1e300", 86_400), ("0", 0), ("\"60\"", 300), ("60", 60)])
    func `no lifetime of an answer breaks anything`(text: String, seconds: Double) throws {
        let body = Array(#"{"access_token":"t","expires_in":\#(text)}"#.utf8)
        guard let issued = IssuedToken(body) else {
            // A number that no format carries is no document.
            #expect(text == "1e400")
            return
        }
        #expect(issued.lifetime == .seconds(seconds))
    }

    private func issued(_ token: String, _ seconds: Double) throws -> IssuedToken {
        try #require(IssuedToken(Array(#"{"access_token":"\#(token)","expires_in":\#(seconds)}"#.utf8)))
    }

    private func step(_ table: inout TokenTable, _ name: String, _ ticket: UInt64, at seconds: Double) -> String {
        switch table.next(for: name, ticket, now: start + .seconds(seconds)) {
        case .use(let token): "use \(token.reveal())"
        case .fetch: "fetch"
        case .wait: "wait"
        case .fail(let failure): "fail \(failure.kind.rawValue)"
        }
    }
}
