import AdapterKit
import Testing
import WireFormats
import XMLSchema

private let user = ObjectShape(
    "User",
    members: [
        Member("UserId", .integer(IntegerRange(1...1_000_000)), isRequired: true),
        Member("UserName", .string(maximumLength: 10), isRequired: true),
        Member("ShoeSize", .choice(["8.5M", "12\"W"])),
        Member("Weight", .double), Member("Paid", .decimal(scale: 2)), Member("Since", .date), Member("On", .bool),
        Member("Photo", .data(maximumBytes: 4)), Member("Tags", .list(of: .string)), Member("Rest", .any),
    ])
private let shape = Shape.object(ObjectShape("UserList", members: [Member("entry", .list(of: .object(user)))]))

private func list(_ members: WireDictionary) -> WireValue { ["entry": [.dictionary(members)]] }

private let full: WireDictionary = [
    "UserId": 100, "UserName": "A&B ‹é>", "ShoeSize": "12\"W", "Weight": .double(1e-7),
    "Paid": .decimal(WireDecimal("-0.05")!),
    "Since": .date(WireDate(secondsSinceReferenceDate: 0.25)), "On": true, "Photo": .data([1, 2, 3]),
    "Tags": ["a", "b"],
    "Rest": ["x": [1, "2"]],
]

@Suite struct ShapedDocumentTests {
    @Test(arguments: [[:], ["Tags": .item]] as [[FieldName: XMLElementName]])
    func `what is written is valid against the schema that is made`(wrapped: [FieldName: XMLElementName]) throws {
        for namespace in [nil, "http://captechventures.com/schema", "urn:a\"b"] {
            let document = XMLDocument(root: "UserList", namespace: namespace)
            let shaped = try #require(ShapedXML(document, shape, wrappedLists: wrapped))
            let schema = try XMLSchema(shaped.schema())
            for value in [list(full), list(["UserId": 1, "UserName": ""]), ["entry": []], [:]] as [WireValue] {
                let violations = try schema.violations(in: shaped.write(value))
                #expect(violations.isEmpty, "\(violations)")
            }
        }
    }

    @Test(
        arguments: [
            ("UserId", .int64(0)), ("UserName", "longer than ten"), ("ShoeSize", "9"),
            ("Paid", .decimal(WireDecimal("0.123")!)),
            ("Photo", .data([1, 2, 3, 4, 5])),
        ] as [(String, WireValue)])
    func `the schema holds the shape's limits`(member: String, value: WireValue) throws {
        let shaped = try #require(ShapedXML(XMLDocument(root: "UserList"), shape))
        var members = full
        members[member] = value
        #expect(try XMLSchema(shaped.schema()).violations(in: shaped.write(list(members))).count >= 1)
    }
}
