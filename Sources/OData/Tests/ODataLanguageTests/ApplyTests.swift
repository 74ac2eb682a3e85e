import ODataLanguage
import Testing

@Suite struct ApplyTests {
    private func steps(_ text: String) throws -> [Transformation] { try parsed("applyExpr", text) }

    @Test func `groups are aggregated by paths under names`() throws {
        guard case .groupBy(let elements, let then)? = try steps("groupby((A/B,C),aggregate(D with sum as E))").first
        else {
            Issue.record("no groups")
            return
        }
        #expect(elements.count == 2)
        guard case .aggregate(let values)? = then.first else {
            Issue.record("no aggregate")
            return
        }
        #expect(values.first?.method == WrittenName(nil, "sum"))
        #expect(values.first?.name == "E")
    }

    @Test func `steps follow each other`() throws {
        let all = try steps("filter(A gt 1)/orderby(A desc)/skip(1)/top(2)/identity")
        #expect(all.count == 5)
        #expect(all.last == .identity)
    }

    @Test(arguments: [
        ("aggregate()", 10), ("aggregate(A with sum)", 20), ("aggregate(A with total as B)", 22),
        ("aggregate($count with sum as B)", 17), ("groupby(A)", 8), ("concat(identity)", 15), ("unknown(A)", 7),
        ("groupby((A/Shop.Special))", 23),
    ])
    func `a step is refused where it goes wrong`(text: String, position: Int) throws {
        let found = try failure("applyExpr", text)
        #expect(found == position)
    }
}
