import Testing

@testable import Gateway

@Suite struct CookieFieldTests {
    @Test func `a cookie is read by bytes, whatever follows its separators`() {
        let field = CookieField("other=\u{301}a=b; \u{301}x=1;\u{301}=2; portico_session=\u{301}a=b")
        #expect(field["portico_session"].map { Array($0.utf8) } == Array("\u{301}a=b".utf8))
        #expect(field["other"].map { Array($0.utf8) } == Array("\u{301}a=b".utf8))
        #expect(field["portico_session=\u{301}a"] == nil)
    }

    @Test func `two cookies of one name are none, and spellings that are equal in Unicode are two names`() {
        #expect(CookieField("a=1; a=2").singleCookie("a") == nil)
        #expect(CookieField("\u{212A}=1; K=2").singleCookie("K") == "2")
    }
}
