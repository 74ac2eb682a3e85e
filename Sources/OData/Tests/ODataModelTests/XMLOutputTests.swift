import ODataModel
import Testing

@Suite
struct XMLOutputTests {
    @Test func `texts and attributes are escaped so that they read the same`() throws {
        let hostile = "a<b>&\"c'\r\n\t]]> å 😀"
        var output = XMLOutput()
        output.begin("x", [("y", hostile)])
        output.element("z", text: hostile)
        output.element("empty")
        output.end()
        let read = try CSDLElement(xml: output.bytes)
        #expect(read["y"] == hostile)
        #expect(read.first("z")?.text == hostile)
        #expect(read.first("empty")?.text == "")
        #expect(output.isRepresentable)
    }

    @Test(arguments: ["\u{0}", "a\u{1}b", "\u{FFFE}", "\u{FFFF}"])
    func `a character that XML cannot carry is an error`(text: String) {
        var output = XMLOutput()
        output.element("x", text: text)
        #expect(!output.isRepresentable)
    }

    @Test func `characters beside those are carried`() {
        var output = XMLOutput()
        output.element("x", text: "\u{FFFD}\u{7F}\u{BF}ſ￾".replacing("\u{FFFE}", with: ""))
        #expect(output.isRepresentable)
    }
}
