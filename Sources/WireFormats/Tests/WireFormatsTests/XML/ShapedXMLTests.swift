import AdapterKit
import Testing
import WireFormats

private let entry = ObjectShape(
    "Entry",
    members: [
        Member("UserId", .integer, isRequired: true), Member("UserName", .string, isRequired: true),
        Member("ShoeSize", .string), Member("Tags", .list(of: .string)),
    ])
private let list = Shape.object(ObjectShape("UserList", members: [Member("entry", .list(of: .object(entry)))]))
private let contract = XMLDocument(root: "UserList", namespace: "http://captechventures.com/schema")

private func users(wrapped: [FieldName: XMLElementName] = [:]) throws -> ShapedXML {
    try #require(ShapedXML(contract, list, wrappedLists: wrapped))
}

private func read(_ body: String) throws -> ShapedXML.Reading {
    try users().read(Array("<UserList xmlns=\"http://captechventures.com/schema\">\(body)</UserList>".utf8))
}

@Suite struct ShapedXMLTests {
    @Test func `the contract's list is written as the contract shows it`() throws {
        let value: WireValue = [
            "entry": [
                ["UserName": "Fake 1", "UserId": 100, "Tags": ["a", "b"]],
                ["UserId": 101, "UserName": "A&B ‹é>", "ShoeSize": .null],
            ]
        ]
        let expected = """
            <?xml version="1.0" encoding="UTF-8"?>
            <UserList xmlns="http://captechventures.com/schema"><entry><UserId>100</UserId><UserName>Fake 1</UserName>\
            <Tags>a</Tags><Tags>b</Tags></entry><entry><UserId>101</UserId><UserName>A&amp;B ‹é&gt;</UserName></entry></UserList>
            """
        let written = try users().write(value)
        #expect(String(decoding: written, as: UTF8.self) == expected)
        let reading = try users().read(written)
        #expect(reading.value["entry"]?.arrayValue?[1]["UserName"] == "A&B ‹é>")
        #expect(reading.unknown.isEmpty)
    }

    @Test func `a wrapped list stands in an element of its own`() throws {
        let shaped = try users(wrapped: ["Tags": .item])
        let value: WireValue = ["entry": [["UserId": 1, "UserName": "x", "Tags": ["a", "b"]]]]
        let written = try shaped.write(value)
        #expect(String(decoding: written, as: UTF8.self).contains("<Tags><item>a</item><item>b</item></Tags>"))
        #expect(try shaped.read(written).value == value)
    }

    @Test func `prefixes and order do not matter when reading`() throws {
        let document = """
            <u:UserList xmlns:u="http://captechventures.com/schema"><!-- c --><u:entry>
            <u:UserName>x</u:UserName><u:UserId> 7 </u:UserId></u:entry></u:UserList>
            """
        let value = try users().read(Array(document.utf8)).value
        #expect(value == ["entry": [["UserId": 7, "UserName": "x", "Tags": []]]])
    }

    @Test func `unknown parts are skipped and reported with their place`() throws {
        let reading = try read(
            "<entry id='1'><UserId>7</UserId><Colour><a>1</a></Colour><x:UserName xmlns:x='y'/></entry>\n<extra/>")
        #expect(reading.value == ["entry": [["UserId": 7, "Tags": []]]])
        #expect(
            reading.unknown.map(\.path) == [
                "UserList/entry/@id", "UserList/entry/Colour", "UserList/entry/x:UserName", "UserList/extra",
            ])
        #expect(reading.unknown.last?.position.line == 2)
    }

    @Test(arguments: [
        "<entry><UserId>x</UserId></entry>", "<entry><UserId>1</UserId><UserId>2</UserId></entry>",
        "<entry>text</entry>",
        "<entry><UserId><b/></UserId></entry>", "<entry><UserId>99999999999999999999</UserId></entry>",
    ])
    func `what contradicts the shape is refused with its place`(body: String) throws {
        let error = try #require(throws: WireFormatError.self) { try read(body) }
        #expect(error.position?.line == 1)
    }

    @Test func `another root or namespace is refused, and so is a DOCTYPE`() throws {
        for document in ["<UserList/>", "<Users xmlns='http://captechventures.com/schema'/>"] {
            let error = try #require(throws: WireFormatError.self) { try users().read(Array(document.utf8)) }
            #expect(error.kind == .malformed)
        }
        let error = try #require(throws: WireFormatError.self) { try users().read(Array("<!DOCTYPE a><a/>".utf8)) }
        #expect(error.kind == .refused)
    }

    @Test func `a value that is not of the shape is not written`() throws {
        let wrong: [WireValue] = [
            ["entry": [["UserId": "x"]]], ["other": 1], "text", ["entry": [["UserName": "\u{1}"]]],
        ]
        for value in wrong {
            let error = try #require(throws: WireFormatError.self) { try users().write(value) }
            #expect(error.kind == .notRepresentable)
        }
    }

    @Test func `every scalar keeps its value`() throws {
        let members: [(Member, WireValue)] = [
            (Member("b", .bool), true), (Member("i", .integer), .int64(.min)), (Member("d", .double), .double(-0.0)),
            (Member("n", .double), .double(.infinity)),
            (Member("x", .decimal(scale: 2)), .decimal(WireDecimal("12345678901234567890.25")!)),
            (Member("t", .date), .date(WireDate(secondsSinceReferenceDate: 0.5))),
            (Member("r", .data(maximumBytes: 9)), .data([1, 2])),
            (Member("c", .choice(["a", "b"])), "b"), (Member("s", .string), " \r\n\t&<é "),
        ]
        let shape = Shape.object(ObjectShape("All", members: members.map(\.0)))
        let value = WireValue.dictionary(
            WireDictionary(uncheckedUniqueKeys: members.map { .init(key: $0.0.name.text, value: $0.1) }))
        let shaped = try #require(ShapedXML(XMLDocument(root: "all"), shape))
        #expect(try shaped.read(shaped.write(value)).value == value)
    }
}
