import AdapterKit
import Testing

@Suite struct `Row rules` {
    private let ann = Principal(kind: .user, id: "1", name: "ann", roles: ["editor"], attributes: ["region": "north"])

    private func filter(_ rule: RowRule, _ principal: Principal? = nil) -> Filter? {
        rule.filter(for: principal ?? ann)
    }

    @Test func `a rule that restricts nothing gives no filter`() {
        #expect(filter(.everyone) == nil)
        #expect(filter(.hasRole("editor")) == nil)
        #expect(filter(.signedIn) == nil)
        #expect(filter(.any([.nobody, .signedIn])) == nil)
        #expect(filter(.all([])) == nil)
    }

    @Test func `a rule that one does not meet gives nothing`() {
        #expect(filter(.nobody) == .never)
        #expect(filter(.hasRole("admin")) == .never)
        #expect(filter(.signedIn, .anonymous) == .never)
        #expect(filter(.attributeEquals("area", attribute: "district")) == .never)
    }

    @Test func `rows are distinguished by their values`() {
        #expect(filter(.fieldIsOneOf("name", ["a", "b"]), .anonymous) == .oneOf("name", ["a", "b"]))
        #expect(filter(.not(.fieldIsOneOf("name", ["a"]))) == .not(.oneOf("name", ["a"])))
        #expect(filter(.not(.signedIn)) == .never)
        #expect(filter(.attributeEquals("area", attribute: "region")) == .compare("area", .equal, "north"))
        #expect(
            filter(.any([.fieldIsOneOf("name", ["a"]), .all([.signedIn, .fieldIsOneOf("name", ["b"])])]), .anonymous)
                == .any([.oneOf("name", ["a"]), .all([.never, .oneOf("name", ["b"])])]))
    }
}
