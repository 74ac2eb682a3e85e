import AdapterKit
import HTTPTypes
import Testing

@testable import Gateway

/// Errors that say what to do next.
@Suite struct LeadingErrorTests {
    @Test func `a scheme that is not taken is named, and what is sent instead`() async throws {
        let host = try await NotesGateway { $0.allowsBasic = false }
        let basic = try await host.get(NotesGateway.notes)
        #expect(basic.status == 401 && basic.code == "auth.invalid")
        #expect(basic.text.contains("identity.basic.enabled") && basic.text.contains("/auth/login"), "\(basic)")
        let other = try await host.get(NotesGateway.notes, [.authorization: "Digest abc"], as: nil)
        #expect(other.status == 401 && other.text.contains("Bearer TOKEN"), "\(other)")
        // What could be a credential is not told apart from one that is none.
        let bearer = try await host.get(NotesGateway.notes, [.authorization: "Bearer abc"], as: nil)
        #expect(bearer.text.contains("The credential is not valid."), "\(bearer)")
    }

    @Test(arguments: [
        (
            "application/x-www-form-urlencoded", #"{"username":"alice","password":"x"}"#,
            "Content-Type: application/json"
        ),
        ("application/x-www-form-urlencoded", " <dict/>", "Content-Type: application/xml"),
        ("application/x-www-form-urlencoded", "bplist00", "Content-Type: application/x-apple-binary-plist"),
        ("application/json", "username=alice&password=x", "Content-Type: application/x-www-form-urlencoded"),
        ("application/json", "<a/>", "Content-Type: application/xml"),
        ("application/x-plist", "{}", "Content-Type: application/json"),
    ])
    func `a body of another format than its header says is answered with the right header`(
        type: String, body: String, advice: String
    ) async throws {
        let host = try await NotesGateway()
        let answer = try await host.send(
            .post, "/auth/login", body: Array(body.utf8), [.contentType: type], as: nil)
        #expect(answer.status == 400 && answer.code == "request.malformed", "\(answer)")
        #expect(answer.text.contains(advice), "\(answer)")
    }

    @Test(arguments: [("application/json", "{\"a\":"), ("application/json", "nonsense"), ("application/xml", "<a>")])
    func `a body that is merely malformed gets no advice`(type: String, body: String) async throws {
        let host = try await NotesGateway()
        let answer = try await host.send(
            .post, "/auth/login", body: Array(body.utf8), [.contentType: type], as: nil)
        #expect(answer.status == 400 && !answer.text.contains("Content-Type"), "\(answer)")
    }

    @Test(arguments: [
        ("limt=3", "Did you mean limit?"), ("order=-tilte", "Did you mean title?"),
        ("select=titel", "Did you mean title?"),
    ])
    func `a mistyped parameter or field leads to the right one`(query: String, advice: String) async throws {
        let host = try await NotesGateway()
        let answer = try await host.get("\(NotesGateway.notes)?\(query)")
        #expect(answer.status == 400 && answer.text.contains(advice), "\(answer)")
        let far = try await host.get("\(NotesGateway.notes)?quite-another=3")
        #expect(far.status == 400 && !far.text.contains("Did you mean"), "\(far)")
    }

    @Test func `each error names the page of its code, and the page says what to do`() async throws {
        let host = try await NotesGateway()
        let missing = try await host.get("/nothing")
        let link = try #require(missing.fields[HTTPField.Name("Link")!])
        #expect(link == "</errors/route.notFound>; rel=\"help\"")
        #expect(missing.json["error"]?.dictionaryValue?.count == 3)
        for code in ErrorCode.allCases {
            let page = try await host.get("/errors/\(code.rawValue)", as: nil)
            #expect(page.status == 200 && page.fields[.contentType] == "text/html; charset=utf-8", "\(page)")
            #expect(page.text.contains("The operator can") && page.text.contains("<h1>\(code.rawValue)</h1>"))
            #expect(!page.text.contains("`") && !page.text.contains("]("), "\(code)")
        }
        let index = try await host.get("/errors", as: nil)
        #expect(ErrorCode.allCases.allSatisfy { index.text.contains("/errors/\($0.rawValue)") })
        #expect(try await host.get("/errors/no.such").status == 404)
        // The operators' listeners have no such pages.
        let administration = try await host.send(.get, "/nothing", by: host.administration)
        #expect(administration.status == 404 && administration.fields[HTTPField.Name("Link")!] == nil)
    }
}
