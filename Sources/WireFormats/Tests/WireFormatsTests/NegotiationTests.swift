import Testing
import ValueTree
import WireFormats

/// A format that is nothing but its names, so that negotiation is tested for every format that there will be.
struct NamedFormat: WireFormat {
    let name: FormatName
    let mediaTypesRead: [MediaType]
    let mediaTypeWritten: MediaType
    let structuredSuffix: String?
    let charsets: Set<String>
    let traits = JSONFormat().traits

    init(_ name: FormatName, _ types: [String], suffix: String? = nil, charsets: Set<String> = ["utf-8"]) {
        self.name = name
        mediaTypesRead = types.compactMap { MediaType($0) }
        mediaTypeWritten = mediaTypesRead[0]
        structuredSuffix = suffix
        self.charsets = charsets
    }

    func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        throw WireFormatError(.refused, "a name only")
    }
    func write(_ value: WireValue, options: WritingOptions, to output: inout OutputBuffer) {}
    func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) {}
    func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        JSONFormat().makeStreamWriter(options: options)
    }
}

private let plist = NamedFormat(
    .plist,
    [
        "application/x-plist", "text/x-apple-plist+xml", "application/x-apple-plist", "application/plist",
    ], charsets: ["utf-8", "utf-16"])
private let xml = NamedFormat(.xml, ["application/xml", "text/xml"], suffix: "xml", charsets: ["utf-8", "utf-16"])
private let all: [any WireFormat] = [JSONFormat(), plist, BinaryPropertyListFormat(), xml]
private let resource = RouteFormats(all)
private let feed = RouteFormats([plist, BinaryPropertyListFormat(), JSONFormat(), xml], textXMLMeansPlist: true)

@Suite struct AcceptTests {
    @Test(
        arguments: [
            (nil, "json application/json"), ("", "json application/json"), ("*/*", "json application/json"),
            ("application/json", "json application/json"), ("APPLICATION/JSON", "json application/json"),
            ("application/x-plist", "plist application/x-plist"), ("application/plist", "plist application/plist"),
            ("text/x-apple-plist+xml", "plist text/x-apple-plist+xml"),
            ("application/x-apple-binary-plist", "bplist application/x-apple-binary-plist"),
            ("application/xml", "xml application/xml"), ("text/xml", "xml text/xml"),
            ("text/*", "plist text/x-apple-plist+xml"),
            ("*/*, application/xml", "xml application/xml"), ("application/*, text/xml", "xml text/xml"),
            ("application/xml, application/json", "xml application/xml"),
            ("application/xml;q=0.999, application/json", "json application/json"),
            ("application/xml;q=0.5, application/json;q=0.499", "xml application/xml"),
            ("application/json;q=0, */*", "plist application/x-plist"),
            ("application/json;q=0.1, */*;q=0.2", "plist application/x-plist"),
            (
                "application/x-plist;q=0.000, application/x-apple-binary-plist",
                "bplist application/x-apple-binary-plist"
            ),
            ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "xml application/xml"),
            ("text/html, */*;q=0.1", "json application/json"),
            ("application/json;odata=verbose;q=0.5;ext=1, text/html", "json application/json"),
            ("application/problem+json", "json application/json"),
            ("application/xhtml+xml, application/json;q=0.9", "json application/json"),
            ("image/svg+xml, */*;q=0.1", "json application/json"),
            (" , application/xml ,, ", "xml application/xml"),
            (
                "application/json;q=0.5, application/json;odata=verbose;q=1, application/xml;q=0.7",
                "json application/json"
            ),
        ] as [(String?, String)])
    func `the answer's format follows the field`(field: String?, expected: String) throws {
        let answer = try resource.negotiate(accept: field)
        #expect("\(answer.format.name) \(answer.mediaType)" == expected)
    }

    @Test(arguments: [
        "text/html", "application/json;q=0", "*/*;q=0", "image/*", "application/vnd.x+yaml", "application/xhtml+xml",
        "application/atom+xml", "image/svg+xml;q=0.5",
    ])
    func `no match lists what there is`(field: String) {
        #expect(throws: NegotiationFailure.notAcceptable(all.map(\.mediaTypeWritten))) {
            try resource.negotiate(accept: field)
        }
    }

    @Test(arguments: [
        "json", "*/json", "application/json;q=2", "application/json;q=1.001", "application/json;q=0.1234",
        "application/json;q=-1", "application/json;q=", "application/json application/xml", "application/json;q=..5",
        "application/", "application/json;q=0.5.", "*", ";", "a b;c=\"d, e\\\", f\"",
    ])
    func `an element that breaks the grammar is passed over, and a field without any other says nothing`(field: String)
        throws
    {
        let answer = try resource.negotiate(accept: field)
        #expect(answer.format.name == .json && answer.range == nil)
        #expect(try resource.negotiate(accept: "\(field), application/xml").format.name == .xml)
        #expect(try resource.negotiate(accept: "application/xml, \(field)").format.name == .xml)
    }

    @Test func `what Java's HttpURLConnection sends by default gets the default`() throws {
        let answer = try resource.negotiate(accept: "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")
        #expect(answer.format.name == .json && answer.range?.quality == 200)
    }

    @Test(arguments: [("json", "json"), ("plist", "plist"), ("bplist", "bplist"), ("xml", "xml")])
    func `the query's format wins over the field`(name: String, expected: String) throws {
        #expect(try resource.negotiate(accept: "text/html", override: name).format.name.text == expected)
    }

    @Test(arguments: ["", "JSON", "cbor", "yaml"]) func `an unknown format in the query is not acceptable`(name: String)
    {
        #expect(throws: NegotiationFailure.self) { try resource.negotiate(accept: nil, override: name) }
    }

    @Test(
        arguments: [
            (nil, "plist application/x-plist"), ("text/xml", "plist text/xml"),
            ("application/xml", "xml application/xml"),
            ("application/x-apple-binary-plist", "bplist application/x-apple-binary-plist"),
            ("application/json", "json application/json"),
        ] as [(String?, String)])
    func `on a feed text/xml means the property list`(field: String?, expected: String) throws {
        let answer = try feed.negotiate(accept: field)
        #expect("\(answer.format.name) \(answer.mediaType)" == expected)
    }

    @Test func `a route that prefers the binary encoding still answers application/x-plist with XML`() throws {
        let route = RouteFormats([BinaryPropertyListFormat(), plist])
        #expect(try route.negotiate(accept: "application/x-plist").format.name == .plist)
        #expect(try route.negotiate(accept: nil).format.name == .bplist)
        #expect(
            try RouteFormats([BinaryPropertyListFormat()]).negotiate(accept: "application/plist").format.name == .bplist
        )
    }
}

@Suite struct ContentTypeTests {
    private let binary = Array("bplist00".utf8)

    @Test(
        arguments: [
            (nil, "json"), ("application/json", "json"), ("application/json; charset=UTF-8", "json"),
            ("application/merge-patch+json", "json"), ("application/x-plist", "plist"), ("application/soap+xml", "xml"),
            ("text/xml; charset=utf-16", "xml"), ("text/x-apple-plist+xml", "plist"),
            ("application/x-apple-binary-plist", "bplist"),
        ] as [(String?, String)])
    func `the body's format follows its type`(type: String?, expected: String) throws {
        #expect(try resource.body(contentType: type, bytes: []).format.name.text == expected)
    }

    @Test(arguments: ["application/x-plist", "application/plist", "application/x-apple-plist"])
    func `a shared type is recognised by its first bytes`(type: String) throws {
        #expect(try resource.body(contentType: type, bytes: binary).format.name == .bplist)
        #expect(try resource.body(contentType: type, bytes: Array("<?xml".utf8)).format.name == .plist)
    }

    @Test func `the charset is handed on`() throws {
        #expect(try resource.body(contentType: "text/xml;charset=\"UTF-16\"", bytes: []).charset == "utf-16")
    }

    @Test(arguments: [
        "text/html", "application/json; charset=iso-8859-1", "application/json; charset=utf-16",
        "text/xml;charset=ebcdic",
        "application/x+yaml",
    ])
    func `an unknown type or charset is unsupported`(type: String) {
        #expect(throws: NegotiationFailure.unsupported(all.map(\.mediaTypeWritten))) {
            try resource.body(contentType: type, bytes: [])
        }
    }

    @Test(arguments: ["", "json", "application/json; charset", "application/json, text/xml"])
    func `a malformed type is distinguished`(type: String) {
        #expect(throws: NegotiationFailure.malformedField("Content-Type")) {
            try resource.body(contentType: type, bytes: [])
        }
    }

    @Test func `on a feed text/xml is read as a property list`() throws {
        #expect(try feed.body(contentType: "text/xml", bytes: []).format.name == .plist)
    }
}
