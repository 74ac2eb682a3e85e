import Testing
import WireFormats

private func failure(_ document: String) -> WireFormatError? {
    do throws(WireFormatError) {
        _ = try XMLFormat().readTape(Array(document.utf8), limits: ReadingLimits())
        return nil
    } catch { return error }
}

@Suite struct XMLWellFormednessTests {
    @Test(arguments: [
        "<a/>", "<a></a >", "<?xml version=\"1.0\"?><a/>",
        "<?xml version='1.1' encoding='utf-8' standalone='no' ?>\n<a/>",
        "<!-- c --><?p x?><a/><!----><?q?>\n", "<a>]]</a>", "<a>]>&gt;</a>", "<a b='\"' c=\"'\"/>", "<a b='>'/>",
        "<a><![CDATA[<&]]]]></a>", "<a>&#x10FFFF;&#9;&#0000000000000065;</a>", "<a><!--a-b--></a>", "<日本 é='1'/>",
        "<a xmlns='u'><b xmlns=''/></a>", "<p:a xmlns:p='u' p:b='1' b='2'/>",
        "<a xml:lang='en' xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
        "<a\u{300}·/>", "<a>\u{7F}\u{85}\u{FFFD}\u{10FFFF}</a>", "<a><?x-xml ??></a>",
    ])
    func `a well-formed document is accepted`(document: String) {
        #expect(failure(document) == nil)
    }

    @Test(arguments: [
        "", " ", "text", "<a>", "<a", "<a/", "<a></b>", "<a/><b/>", "<a/>text", "&amp;<a/>", "</a>", "<a></a></a>",
        "<1/>", "< a/>",
        " <?xml version='1.0'?><a/>", "<?xml?><a/>", "<?xml version='2.0'?><a/>", "<?xml version='1.'?><a/>",
        "<?xml encoding='UTF-8'?><a/>", "<?xml version='1.0' standalone='maybe'?><a/>",
        "<?xml version='1.0' standalone='yes' encoding='UTF-8'?><a/>", "<?xml version='1.0'encoding='UTF-8'?><a/>",
        "<?XML version='1.0'?><a/>", "<a><?xml version='1.0'?></a>", "<?xml version='1.0' ><a/>",
        "<a b/>", "<a b=c/>", "<a b='1' b='2'/>", "<a b='1'c='2'/>", "<a b='<'/>", "<a b='&'/>", "<a b='1/>",
        "<a b=\"'/>",
        "<a>]]></a>", "<a>&</a>", "<a>&foo;</a>", "<a>&amp</a>", "<a>& amp;</a>", "<a>&#;</a>", "<a>&#x;</a>",
        "<a>&#X41;</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#xFFFE;</a>", "<a>&#x110000;</a>", "<a>&#99999999999999999999;</a>",
        "<a>&#12a;</a>",
        "<a>\u{1}</a>", "<a>\u{FFFE}</a>", "<a>\u{FFFF}</a>", "<a b='\u{B}'/>", "<!--\u{1}--><a/>", "<?p \u{1}?><a/>",
        "<!-- -- --><a/>", "<!--a---><a/>", "<!-- ", "<!- a --><a/>", "<a><![CDATA[x]]</a>", "<![CDATA[x]]><a/>",
        "<a><![cdata[x]]></a>",
        "<??><a/>", "<? p?><a/>", "<?p", "<?p:q x?><a/>", "<?p+?><a/>", "<a><!ELEMENT a ANY></a>",
        "<p:a/>", "<a p:b='1'/>", "<a:b:c xmlns:a='u'/>", "<:a/>", "<a:/>", "<a xmlns:p=''/>", "<a xmlns:xmlns='u'/>",
        "<a xmlns:xml='u'/>", "<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>",
        "<a xmlns='http://www.w3.org/2000/xmlns/'/>",
        "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "<xmlns:a/>", "<a xmlns='u' xmlns='v'/>",
        "<a><b xmlns:p='u'/><p:c/></a>",
        "<·a/>", "<\u{300}a/>", "<a\u{2040}\u{D7}/>", "<a><!DOCTYPE a></a>", "<a/><!DOCTYPE a>", "<!doctype a><a/>",
    ])
    func `a malformed document is refused with its place`(document: String) throws {
        let error = try #require(failure(document))
        #expect(error.kind == .malformed)
        #expect(error.position?.line != nil && error.position?.column != nil)
    }

    @Test(arguments: [
        "<!DOCTYPE a><a/>", "<!-- c --><?p?>\n<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<?xml version='1.0'?><!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "<!DOCTYPE a PUBLIC 'x' 'http://x/'><a/>",
        "<!DOCTYPE plist PUBLIC '-//Apple//DTD PLIST 1.0//EN' 'x'><plist/>", "<!DOCTYPE",
    ])
    func `a DOCTYPE is refused as such`(document: String) {
        #expect(failure(document)?.kind == .refused)
    }

    @Test func `an error names line and column`() throws {
        let position = try #require(failure("<a>\n  <b>\r\n é&x;</b></a>")?.position)
        #expect(position.line == 3)
        #expect(position.column == 4)
    }

    @Test func `depth, attributes, names and namespaces are limited`() {
        let deep = String(repeating: "<a>", count: 600) + String(repeating: "</a>", count: 600)
        #expect(failure(deep)?.kind == .limitExceeded)
        let attributes = (0..<3000).map { " a\($0)=''" }.joined()
        #expect(failure("<a\(attributes)/>")?.kind == .limitExceeded)
        #expect(failure("<\(String(repeating: "a", count: 20_000))/>")?.kind == .limitExceeded)
        let bindings = (0..<300).map { " xmlns:a\($0)='u'" }.joined()
        #expect(failure("<a\(bindings)/>")?.kind == .limitExceeded)
    }
}
