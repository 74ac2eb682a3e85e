import ODataLanguage
import Testing

@Suite struct SearchTests {
    @Test(arguments: [
        ("blue", SearchExpression.word("blue")),
        ("\"blue green\"", .phrase("blue green")),
        ("blue green", .and(.word("blue"), .word("green"))),
        ("a OR b AND c", .or(.word("a"), .and(.word("b"), .word("c")))),
        ("a b OR c", .or(.and(.word("a"), .word("b")), .word("c"))),
        ("NOT a b", .and(.not(.word("a")), .word("b"))),
        ("NOT", .word("NOT")), ("not a", .and(.word("not"), .word("a"))),
        ("AND OR", .and(.word("AND"), .word("OR"))),
        ("AND OR NOT", .or(.word("AND"), .word("NOT"))),
        ("(a OR b) c", .and(.or(.word("a"), .word("b")), .word("c"))),
        ("'a \"b'", .incomplete("a \"b")),
    ])
    func `operators without operands are words`(text: String, tree: SearchExpression) throws {
        let option: QueryOption = try parsed("search", "$search=\(text)")
        #expect(option.form == .search(tree))
    }
}
