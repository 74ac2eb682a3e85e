import AdapterKit
import Testing
import WireFormats

private func read(_ document: String, _ root: XMLFormat.UntypedRoot = .content) throws -> WireValue {
    try XMLFormat(untypedRoot: root).read(Array(document.utf8))
}

private func text(_ value: WireValue, _ options: WritingOptions = WritingOptions()) throws -> String {
    String(decoding: try XMLFormat().write(value, options: options), as: UTF8.self)
}

private let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

@Suite struct XMLMappingTests {
    @Test func `a value is written with its types`() throws {
        let written = try text(["name": "A&B", "n": [1, 1.0, true, .null], "not a name": [:]])
        #expect(
            written == head
                + "<value xmlns:v=\"urn:portico:value\" v:type=\"dictionary\"><name>A&amp;B</name><n v:type=\"array\">"
                + "<item v:type=\"int\">1</item><item v:type=\"real\">1.0</item><item v:type=\"bool\">true</item>"
                + "<item v:type=\"null\"></item></n><_ v:key=\"not a name\" v:type=\"dictionary\"></_></value>")
    }

    @Test func `the root takes another name, and the layout lines`() throws {
        var options = WritingOptions(layout: .pretty)
        options.xml.rootName = try #require(XMLElementName("answer"))
        #expect(
            try text(["a": []], options) == head
                + "<answer xmlns:v=\"urn:portico:value\" v:type=\"dictionary\">\n  <a v:type=\"array\"></a>\n</answer>\n"
        )
        #expect(XMLElementName("1a") == nil && XMLElementName("a:b") == nil && XMLElementName("") == nil)
    }

    @Test func `white space that a reader would change is written as references`() throws {
        #expect(try text("a\r\n\tb").hasSuffix(">a&#13;\n\tb</value>"))
        #expect(try text(["\r\n\t\"": 1]).contains("v:key=\"&#13;&#10;&#9;&quot;\""))
    }

    @Test func `text that XML cannot carry is an error, or data by option`() throws {
        #expect(throws: WireFormatError.self) { try text("\u{0}") }
        let options = WritingOptions(xml: XMLWritingOptions(unrepresentableText: .data))
        #expect(try read(text(["a": "\u{0}b", "c": "d"], options)) == ["a": .data([0, 0x62]), "c": "d"])
    }

    @Test func `a foreign document reads by its content`() throws {
        #expect(
            try read("<login><username>alice</username><password/></login>") == ["username": "alice", "password": ""])
        #expect(try read("<a>\n <b>1</b>\n <b>2</b>\n <c> x </c></a>") == ["b": ["1", "2"], "c": " x "])
        #expect(
            try read("<a id='1' xml:lang='en'>t<!-- c -->u<![CDATA[<]]></a>") == [
                "@id": "1", "@xml:lang": "en", "$": "tu<",
            ])
        #expect(try read("<a>x <b>y</b> z</a>") == ["$": ["x ", ["b": "y"], " z"]])
        #expect(try read("<a><b/><c/><b/></a>") == ["$": [["b": ""], ["c": ""], ["b": ""]]])
        #expect(try read("<a b='1'/>", .named) == ["a": ["@b": "1"]])
    }

    @Test func `names are expanded, and prefixes do not matter`() throws {
        let expected: WireValue = ["{u}a": ["@{w}x": "1", "b": "", "{w}c": "", "{}d": ""]]
        #expect(try read("<a xmlns='u' xmlns:w='w' w:x='1'><b/><w:c/><d xmlns=''/></a>", .named) == expected)
        #expect(try read("<p:a xmlns:p='u' xmlns:q='w' q:x='1'><p:b/><q:c/><d/></p:a>", .named) == expected)
    }

    @Test(arguments: [
        "<a v:type='dictionary'>x</a>", "<a v:type='thing'/>", "<a v:type='array'><b/></a>", "<a v:type='int'>1.5</a>",
        "<a v:type='int'><b/></a>", "<a v:type='null'>x</a>", "<a v:type='bool'>yes</a>", "<a v:type='data'>?</a>",
        "<a v:type='dictionary'><b c='d'/></a>", "<a v:type='dictionary'><b v:key='c'/></a>",
        "<a v:type='date'>now</a>",
        "<a v:type='dictionary'><b/><b/></a>", "<a v:type='dictionary'><b xmlns='u'/></a>",
        "<a v:type='real'>0x1p3</a>",
        "<a v:type='uid'>-1</a>", "<a v:type='decimal'>1,5</a>",
    ])
    func `a typed document with a slip is refused`(document: String) {
        let declared = document.replacing("<a ", with: "<a xmlns:v='urn:portico:value' ", maxReplacements: 1)
        #expect(throws: WireFormatError.self) { try read(declared) }
    }

    @Test func `a typed document may use another prefix and stand in lines`() throws {
        let document = """
            <value xmlns:t="urn:portico:value" t:type="dictionary">
              <!-- a comment --> <n t:type="int"> 42 </n>
              <big t:type="int">18446744073709551616</big>
            </value>
            """
        #expect(try read(document) == ["n": 42, "big": .decimal(#require(WireDecimal("18446744073709551616")))])
    }
}
