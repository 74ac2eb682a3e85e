import AdapterKit
import Testing

@testable import ODataAdapter

/// Kept answers of other systems: bounded, and nobody else's.
@Suite struct CalledAnswersTests {
    private func key(_ number: Int, _ owner: String? = nil) throws -> CalledAnswers.Key {
        CalledAnswers.Key(
            address: try #require(UpstreamAddress("http://back.example/s/Students(\(number))")), mediaType: nil,
            owner: owner)
    }

    private func answer(_ bytes: Int = 10, age: String? = nil) throws -> CalledAnswers.Answer {
        let address = try #require(UpstreamAddress("http://back.example/s/"))
        var fields: UpstreamHeaders = [:]
        fields["Age"] = age
        return CalledAnswers.Answer(
            response: UpstreamResponse(
                address: address, status: 200, fields: fields, body: [UInt8](repeating: 0x20, count: bytes)),
            fetched: WireDate(secondsSinceReferenceDate: 1_000))
    }

    @Test func `an answer is found again under its own key alone`() throws {
        let answers = CalledAnswers()
        answers.keep(try answer(), as: try key(1, "alice"), since: answers.removals)
        #expect(try answers.answer(key(1, "alice")) != nil)
        #expect(try answers.answer(key(1, "bob")) == nil && answers.answer(key(1)) == nil)
        #expect(try answers.answer(key(2, "alice")) == nil)
    }

    @Test func `what was asked for before a change is not kept behind it`() throws {
        let answers = CalledAnswers()
        let before = answers.removals
        answers.keep(try answer(), as: try key(1), since: before)
        answers.removeAll()
        #expect(try answers.answer(key(1)) == nil)
        answers.keep(try answer(), as: try key(1), since: before)
        #expect(try answers.answer(key(1)) == nil)
        answers.keep(try answer(), as: try key(1), since: answers.removals)
        #expect(try answers.answer(key(1)) != nil)
    }

    @Test func `a sign-in that ends takes its own answers along`() throws {
        let answers = CalledAnswers()
        for owner in ["alice", "bob"] { answers.keep(try answer(), as: try key(1, owner), since: answers.removals) }
        answers.forget("alice")
        #expect(try answers.answer(key(1, "alice")) == nil && answers.answer(key(1, "bob")) != nil)
    }

    @Test func `the account with the most answers loses those that were used longest ago`() throws {
        let answers = CalledAnswers(mostAnswers: 16)
        answers.keep(try answer(), as: try key(0, "bob"), of: .account("bob"), since: answers.removals)
        for number in 0..<200 {
            answers.keep(try answer(), as: try key(number, "alice"), of: .account("alice"), since: answers.removals)
            #expect(answers.count <= 16)
        }
        #expect(try answers.answer(key(0, "bob")) != nil)
        #expect(try answers.answer(key(0, "alice")) == nil && answers.answer(key(199, "alice")) != nil)
    }

    @Test func `an account that asks for much takes no answer that another one had fetched`() throws {
        let answers = CalledAnswers(mostAnswers: 16)
        answers.keep(try answer(), as: try key(0), of: .account("bob"), since: answers.removals)
        for number in 1..<200 {
            let owner = number.isMultiple(of: 2) ? nil : "sign-in \(number)"
            answers.keep(
                try answer(), as: try key(number, owner), of: .account("alice"), since: answers.removals)
        }
        #expect(try answers.answer(key(0)) != nil)
    }

    @Test func `bytes are bounded, and a large answer is not kept`() throws {
        let answers = CalledAnswers(mostBytes: 64 << 10)
        for number in 0..<100 {
            answers.keep(try answer(4_000), as: try key(number), since: answers.removals)
            #expect(answers.count <= 64 * 1_024 / 4_000)
        }
        answers.keep(try answer(9_000), as: try key(1_000), since: answers.removals)
        #expect(try answers.answer(key(1_000)) == nil)
        #expect(try answers.answer(key(99)) != nil)
    }

    @Test func `an age that the answer had counts`() throws {
        #expect(try answer(age: "120").asOf == WireDate(secondsSinceReferenceDate: 880))
    }

    @Test func `a request tells the age of its oldest answer`() {
        let request = CalledRequest(.anonymous, takesKept: true)
        for second in [20.0, 10, 30] {
            request.note(
                RecordAge(
                    asOf: WireDate(secondsSinceReferenceDate: second), seconds: Int(second), cacheStatus: "\(second)"))
        }
        #expect(request.age?.cacheStatus == "10.0")
        #expect(request.owner == nil)
    }
}
