import AdapterKit
import Foundation
import Testing
import WireFormats

@testable import SOAP

@Suite struct ServiceDefinitionTests {
    private let definition = ServiceDefinition(
        "Things", namespace: "urn:things",
        operations: [
            (
                "find", ObjectShape("Query", members: [Member("text", .string(maximumLength: 9), isRequired: true)]),
                .object(
                    ObjectShape(
                        "Page",
                        members: [
                            Member(
                                "items", .list(of: .object(ObjectShape("Item", members: [Member("n", .integer)]))),
                                isRequired: true),
                            Member("kind", .choice(["a", "b"])), Member("when", .date, isNullable: true),
                            Member("price", .decimal(scale: 2)), Member("bytes", .data(maximumBytes: 9)),
                            Member("flag", .bool), Member("rows", .list(of: .list(of: .integer))),
                            Member("other", .any),
                        ]))
            )
        ])

    @Test func theWSDLIsReadBackAsWhatItWasMadeOf() throws {
        let description = try ServiceDescriptionReader.read("a.wsdl") { _ in
            definition.wsdl(address: "http://localhost/things?a=1&b=2")
        }
        let operation = try #require(description.operation("find"))
        #expect(description.problems == [])
        #expect(description.problems(of: operation) == [])
        #expect(operation.address == "http://localhost/things?a=1&b=2")
        #expect(operation.version == .soap11)
        #expect(operation.input == [definition.operations[0].input])
        #expect(operation.output == [definition.operations[0].output])
        #expect(description.schema == definition.schema)
    }

    @Test func aClientThatReadTheWSDLUnderstandsTheAnswer() throws {
        let description = try ServiceDescriptionReader.read("a.wsdl") { _ in definition.wsdl(address: "http://a/b") }
        let operation = try #require(description.operation("find"))
        let value: WireValue = [
            "items": [["n": 1], ["n": 2]], "kind": "b", "when": .date(WireDate(secondsSinceReferenceDate: 0)),
            "price": .decimal(WireDecimal("1.25")!), "bytes": .data([0]), "flag": false,
            "rows": [["item": [1, 2]], ["item": []]],
        ]
        for version in SOAPVersion.allCases {
            let bytes = try definition.writeResponse(value, of: definition.operations[0], in: version)
            #expect(try operation.readResponse(try SOAPMessage(bytes), description.schema) == ["output1": value])
        }
    }

    @Test func anActionContradictsTheBodyWhereItNamesAnotherOperation() {
        let none = ObjectShape("None", members: [])
        let two = ServiceDefinition(
            "Things", namespace: "urn:things", operations: [("find", none, .bool), ("remove", none, .bool)])
        for action in [
            "", "\"\"", "\"urn:things#find\"", "find", "http://x/Things/findRequest", "urn:other", "urn:things",
            "Remove",
        ] {
            #expect(!two.contradicts(action: action, called: two.operations[0]), "\(action)")
        }
        for action in ["remove", "\"urn:things#remove\"", "urn:things:remove", " \"http://x/Things/removeRequest\" "] {
            #expect(two.contradicts(action: action, called: two.operations[0]), "\(action)")
        }
    }

    @Test func twoObjectsOfOneNameAreTwoTypes() {
        let first = ObjectShape("A", members: [Member("x", .integer)])
        let second = ObjectShape("A", members: [Member("y", .integer)])
        let definition = ServiceDefinition(
            "S", namespace: "urn:s", operations: [("o", first, .object(second)), ("p", second, .object(first))])
        #expect(definition.schema.typeNames.map(\.name) == ["A", "A2"])
    }
}

@Suite struct DescriptionDownloadTests {
    @Test func everyDocumentIsStoredOnceAndImportsLeadToTheFiles() throws {
        let documents = [
            "http://a.example/s?wsdl": """
            <definitions xmlns='\(XSD.wsdl)'><import location = 'parts/one?x=1&amp;y=2'/><types>\
            <schema xmlns='\(XSD.namespace)'><import namespace="/two.xsd" schemaLocation="/two.xsd"/></schema></types></definitions>
            """,
            "http://a.example/parts/one?x=1&y=2": "<definitions xmlns='\(XSD.wsdl)'/>",
            "http://a.example/two.xsd":
                "<schema xmlns='\(XSD.namespace)'><include schemaLocation='two.xsd'/><include schemaLocation='https://b.example/three'/></schema>",
            "https://b.example/three": "<schema xmlns='\(XSD.namespace)'/>",
        ]
        var download = DescriptionDownload("http://a.example/s?wsdl", file: "hr.wsdl")
        var asked: [String] = []
        while let address = download.next {
            asked.append(address)
            try download.receive(Array(try #require(documents[address]).utf8))
        }
        #expect(Set(asked) == Set(documents.keys))
        #expect(asked.count == 4)
        let files = Dictionary(uniqueKeysWithValues: download.files.map { ($0.name, $0.bytes) })
        #expect(Set(files.keys) == ["hr.wsdl", "hr-1.xml", "hr-2.xml", "hr-3.xml"])
        let root = try #require(files["hr.wsdl"].map { String(decoding: $0, as: UTF8.self) })
        #expect(root.contains("namespace=\"/two.xsd\""))
        let description = try ServiceDescriptionReader.read("hr.wsdl") { try #require(files[$0]) }
        #expect(description.problems == [])
    }

    @Test func onlyHTTPIsFetched() {
        var download = DescriptionDownload("http://a.example/s?wsdl", file: "hr.wsdl")
        let text = "<definitions xmlns='\(XSD.wsdl)'><import location='file:///etc/passwd'/></definitions>"
        #expect(throws: SchemaProblem.self) { try download.receive(Array(text.utf8)) }
    }
}
