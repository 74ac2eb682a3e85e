import AdapterKit
import Testing
import WireFormats
import XMLSchema

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private let schemaText = """
    <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:complexType><xs:sequence>
    <xs:element name="n" type="xs:int" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>
    """

@Suite struct XMLSchemaTests {
    private let schema: XMLSchema

    init() throws { schema = try XMLSchema(bytes(schemaText)) }

    @Test func `a valid document has no violations`() throws {
        #expect(try schema.violations(in: bytes("<a><n>1</n><n>2</n></a>")).isEmpty)
    }

    @Test func `violations name their lines`() throws {
        let violations = try schema.violations(in: bytes("<a>\n<n>x</n>\n<m/></a>"))
        #expect(violations.map(\.line).contains(2) && violations.map(\.line).contains(3))
        #expect(violations.allSatisfy { !$0.message.isEmpty })
    }

    @Test func `the number of reported violations is bounded`() throws {
        let document = "<a>" + String(repeating: "<n>x</n>", count: 1000) + "</a>"
        #expect(try schema.violations(in: bytes(document)).count == XMLSchema.reportedViolations)
    }

    @Test(arguments: [
        ("<a>", XMLSchemaError.Reason.notWellFormed), ("", .notWellFormed), ("<!DOCTYPE a><a/>", .doctypeRefused),
        ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", .doctypeRefused),
    ])
    func `what is not well-formed or has a DOCTYPE is refused`(document: String, reason: XMLSchemaError.Reason) throws {
        let error = try #require(throws: XMLSchemaError.self) { try schema.violations(in: bytes(document)) }
        #expect(error.reason == reason)
    }

    @Test func `a document that is too long is refused`() throws {
        let error = try #require(throws: XMLSchemaError.self) {
            try schema.violations(in: bytes("<a><n>1</n></a>"), maximumBytes: 10)
        }
        #expect(error.reason == .tooLong)
    }

    @Test(arguments: [
        "<a/>",
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='a' type='nothing'/></xs:schema>",
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:include schemaLocation='/tmp/other.xsd'/></xs:schema>",
    ])
    func `what is no schema, or needs another one, is refused`(text: String) throws {
        let error = try #require(throws: XMLSchemaError.self) { try XMLSchema(bytes(text)) }
        #expect(error.reason == .notASchema)
    }

    @Test func `a document cannot name a schema of its own`() throws {
        let document = """
            <a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="/etc/hostname"><n>1</n></a>
            """
        _ = try schema.violations(in: bytes(document))
        let wrong = document.replacing("<n>1</n>", with: "<m/>")
        #expect(!(try schema.violations(in: bytes(wrong))).isEmpty)
    }

    @Test func `many tasks validate against one schema`() async throws {
        let schema = schema
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<64 {
                let text = number % 2 == 0 ? "1" : "x"
                group.addTask { try schema.violations(in: bytes("<a><n>\(text)</n></a>")).count }
            }
            let counts = try await group.reduce(into: []) { $0.append($1) }
            #expect(counts.count { $0 == 0 } == 32 && counts.count == 64)
        }
    }
}
