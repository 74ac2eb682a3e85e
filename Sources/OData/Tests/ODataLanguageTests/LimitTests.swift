import ODataLanguage
import Testing

@Suite struct LimitTests {
    private func kind(_ text: String, _ limits: LanguageLimits = LanguageLimits()) throws -> SyntaxError.Kind? {
        let rule = try #require(GrammarRule(named: "filter"))
        do {
            _ = try rule.tree(of: text, limits: limits)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test(arguments: ["(", "not ", "-", "[", "a/any(x:", "concat(", "case(true:"])
    func `depth has a limit, whatever makes it deep`(opening: String) throws {
        let deep = "$filter=" + String(repeating: opening, count: 3000) + "true"
        #expect(try kind(deep) == .limit)
    }

    @Test func `parts, members of lists and length have limits`() throws {
        let many = "$filter=" + (0..<5000).map { "a eq \($0)" }.joined(separator: " or ")
        #expect(try kind(many, LanguageLimits(length: 1 << 20)) == .limit)
        #expect(try kind(many) == .limit)
        let list = "$filter=a in (" + (0..<1001).map(String.init).joined(separator: ",") + ")"
        #expect(try kind(list) == .limit)
    }
}
