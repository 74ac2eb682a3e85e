import ODataLanguage
import Testing

@Suite
struct SourceRangeTests {
    @Test func `runs from its own start through another's end`() {
        #expect(SourceRange(2, 4).through(SourceRange(7, 9)) == SourceRange(2, 9))
    }
}
