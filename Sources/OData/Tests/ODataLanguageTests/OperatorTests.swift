import ODataLanguage
import Testing

@Suite struct OperatorTests {
    @Test(arguments: [
        ("a or b and c", "(a or (b and c))"),
        ("a eq 1 and b ne 2 or c lt 3", "(((a eq 1) and (b ne 2)) or (c lt 3))"),
        ("a add b mul c sub d", "((a add (b mul c)) sub d)"),
        ("a sub b sub c", "((a sub b) sub c)"),
        ("(a add b) mul c", "((a add b) mul c)"),
        ("a gt b eq c le d", "((a gt b) eq (c le d))"),
        ("not a and b", "((not a) and b)"),
        ("not a in (1,2)", "(not (a in [1,2]))"),
        ("not (a eq 1)", "(not (a eq 1))"),
        ("-a add b", "((- a) add b)"),
        ("-1 add b", "(-1 add b)"),
        ("a in (1) or b", "((a in [1]) or b)"),
        ("a in (b)", "(a in b)"), ("a in ()", "(a in [])"), ("a in ( ) and b", "((a in []) and b)"),
        ("A EQ 1 AND B Ne 2", "((A eq 1) and (B ne 2))"),
    ])
    func `operators bind as the specification's table says`(text: String, grouped: String) throws {
        #expect(try expression(text).grouped == grouped)
    }

    @Test func `each part knows its range in the raw text`() throws {
        let whole = try expression("Name%20eq%20'a%27%27b'%20and%20true")
        guard case .binary(.and, let left, _) = whole.form, case .binary(.equal, _, let text) = left.form else {
            Issue.record("not a conjunction of a comparison")
            return
        }
        #expect(text.form == .literal(.string("a'b")))
        #expect(text.range == SourceRange(12, 22))
        #expect(left.range == SourceRange(0, 22))
    }

    @Test func `words that begin like operators or literals are names`() throws {
        for name in ["nullable", "trueish", "order", "android", "notes", "INFO", "date", "dateless", "now"] {
            #expect(try expression(name).grouped == name)
        }
    }
}
