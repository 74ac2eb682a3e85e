import AdapterKit
import ODataLanguage
import Testing

@Suite struct OutlineTests {
    @Test func `a tree can be looked at as plain data`() throws {
        let outline = TreeOutline.outline(of: try expression("A/B eq 1"))
        #expect(outline["range"] == [0, 8])
        let operands = try #require(outline["form"]?["binary"]?.arrayValue)
        #expect(operands[0] == "eq")
        #expect(operands[1]["form"]?["path"]?["segments"]?.arrayValue?.count == 2)
        #expect(operands[2]["form"]?["literal"]?["number"]?["value"] == "1")
    }

    @Test func `expansions have a limit of depth, levels counted`() throws {
        #expect(throws: SyntaxError.self) { try RequestTarget("A?$expand=B($levels=9)") }
        #expect(throws: SyntaxError.self) { try RequestTarget("A?$expand=B($levels=5;$expand=C($levels=4))") }
        #expect(try RequestTarget("A?$expand=B($levels=4;$expand=C($levels=4)),D($levels=max)").options.count == 1)
    }
}
