import AdapterKit
import Admission
import AdmissionTesting
import Testing

@testable import Upstream

@Suite struct TokenTableTests {
    private let start = ContinuousClock.now

    @Test func `one fetches and the others wait, then all use the token until shortly before it expires`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, .gateway, 1, at: 0) == "fetch")
        #expect(step(&table, .gateway, 2, at: 0) == "wait")
        #expect(step(&table, .gateway, 3, at: 0) == "wait")
        #expect(fetched(&table, .gateway, .success(try issued("t1", 100))) == ["2 use t1", "3 use t1"])
        #expect(step(&table, .gateway, 4, at: 89) == "use t1")
        #expect(step(&table, .gateway, 5, at: 91) == "fetch")
    }

    @Test func `who gives up leaves the fetch to the next, and a refusal counts for a moment`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, .gateway, 1, at: 0) == "fetch")
        #expect(step(&table, .gateway, 2, at: 0) == "wait")
        #expect(fetched(&table, .gateway, nil) == ["2 fetch"])
        let refused = UpstreamFailure(.credentialsRefused, of: "hr")
        #expect(fetched(&table, .gateway, .failure(refused)) == [])
        #expect(step(&table, .gateway, 3, at: 0.5) == "fail credentialsRefused")
        #expect(step(&table, .gateway, 4, at: 1.5) == "fetch")
    }

    @Test func `a token that is refused is fetched anew, a newer one stays`() throws {
        var table = TokenTable(limit: 10)
        #expect(step(&table, .gateway, 1, at: 0) == "fetch")
        _ = fetched(&table, .gateway, .success(try issued("new", 100)))
        table.invalidate(Secret("old"), of: .gateway)
        #expect(step(&table, .gateway, 2, at: 0) == "use new")
        table.invalidate(Secret("new"), of: .gateway)
        #expect(step(&table, .gateway, 3, at: 0) == "fetch")
    }

    @Test func `each caller has a token of its own, and no more are kept than the limit`() throws {
        var table = TokenTable(limit: 3)
        for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
            #expect(step(&table, owner(name), 1, at: 0) == "fetch")
            _ = fetched(&table, owner(name), .success(try issued(name, Double(100 + index))))
            #expect(table.count <= 3)
        }
        #expect(step(&table, owner("e"), 2, at: 0) == "use e")
        #expect(step(&table, owner("a"), 2, at: 0) == "fetch")
    }

    @Test func `sign-ins and sets of roles have tokens of their own, and all of an account's go at once`() throws {
        var table = TokenTable(limit: 10)
        let owners = [
            owner("ann", ["hr"], "s1"), owner("ann", [], "s1"), owner("ann", ["hr"], "s2"), owner("ben", ["hr"], "s3"),
        ]
        for (index, owner) in owners.enumerated() {
            #expect(step(&table, owner, 1, at: 0) == "fetch")
            _ = fetched(&table, owner, .success(try issued("t\(index)", 600)))
        }
        #expect(owners.map { step(&table, $0, 2, at: 1) } == ["use t0", "use t1", "use t2", "use t3"])
        table.forget("ann")
        #expect(owners.map { step(&table, $0, 3, at: 2) } == ["fetch", "fetch", "fetch", "use t3"])
    }

    @Test func `a token that was on its way when its sign-in ended is not used again`() throws {
        var table = TokenTable(limit: 10)
        let ann = owner("ann")
        #expect(step(&table, ann, 1, at: 0) == "fetch")
        table.forget("ann")
        #expect(step(&table, ann, 2, at: 0) == "wait")
        #expect(fetched(&table, ann, .success(try issued("old", 600))) == ["2 fetch"])
        _ = fetched(&table, ann, .success(try issued("new", 600)))
        #expect(step(&table, ann, 3, at: 0) == "use new")
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

    private func owner(_ name: String, _ roles: Set<RoleName> = [], _ signIn: String = "s") -> TokenOwner {
        TokenOwner(Principal(kind: .user, id: name, name: name, roles: roles), signIn: signIn)
    }

    private func issued(_ token: String, _ seconds: Double) throws -> IssuedToken {
        try #require(IssuedToken(Array(#"{"access_token":"\#(token)","expires_in":\#(seconds)}"#.utf8)))
    }

    private func step(_ table: inout TokenTable, _ owner: TokenOwner, _ ticket: UInt64, at seconds: Double) -> String {
        switch table.arrive(owner, as: ticket, at: start + .seconds(seconds)) {
        case .admitted(let grant): text(grant)
        case .waits, .undecided: "wait"
        case .refused(let failure): "fail \(failure.kind.rawValue)"
        }
    }

    /// What those get who waited for it.
    private func fetched(
        _ table: inout TokenTable, _ owner: TokenOwner, _ result: Result<IssuedToken, UpstreamFailure>?
    ) -> [String] {
        table.leave(owner, as: 1, result, at: start)
        var decided: [String] = []
        while let decision = table.next(at: start) {
            switch decision {
            case .admit(let ticket, let grant): decided.append("\(ticket) \(text(grant))")
            case .refuse(let ticket, let failure): decided.append("\(ticket) fail \(failure.kind.rawValue)")
            }
        }
        return decided
    }

    private func text(_ grant: TokenTable.Grant) -> String {
        switch grant {
        case .use(let token): "use \(token.reveal())"
        case .fetch: "fetch"
        }
    }

    @Test func `whoever asks and whatever becomes of the fetches, the table keeps its promises`() throws {
        let token = try issued("t", 600)
        var scenario = AdmissionScenario(patience: 40) { _ in
            TokenTable(limit: 3)
        } request: { random in
            TokenOwner(Principal(kind: .user, id: "\(Int.random(in: 0..<3, using: &random))", name: "n", roles: []))
        } end: { _, random in
            [.success(token), .failure(UpstreamFailure(.credentialsRefused, of: "hr")), nil].randomElement(
                using: &random) ?? nil
        }
        scenario.isLeft = { if case .fetch = $0 { true } else { false } }
        scenario.poke = { policy, _, random in policy.forget("\(Int.random(in: 0..<3, using: &random))") }
        scenario.mayGo = { waiting, running, _ in !running.contains { $0.request == waiting.request } }
        scenario.broken = { running, _ in
            Set(running.map(\.request)).count < running.count ? "two fetch the same" : nil
        }
        scenario.memory = ["slots"]
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}
