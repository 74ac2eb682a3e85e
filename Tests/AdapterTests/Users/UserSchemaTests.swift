import AdapterKit
import AdapterTesting
import Foundation
import FoundationXML
import Testing
import XMLUsers

@Suite struct `The users' schema` {
    private func schema() async throws -> XMLElement {
        let host = try await TestHost(XMLUsersModule.self)
        guard case .document(let bytes, let mediaType) = try await host.call("schema").content else {
            throw PorticoError(.serverInternal, "The schema is no document.")
        }
        #expect(mediaType.hasPrefix("application/xml"))
        return try #require(try XMLDocument(data: Data(bytes)).rootElement())
    }

    private func attributes(_ element: XMLElement) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: (element.attributes ?? []).compactMap { attribute in
                attribute.name.flatMap { name in attribute.stringValue.map { (name, $0) } }
            })
    }

    private func elements(ofType name: String, in schema: XMLElement) throws -> [[String: String]] {
        let nodes = try schema.nodes(forXPath: "*[local-name()='complexType'][@name='\(name)']/*/*")
        return nodes.compactMap { $0 as? XMLElement }.map(attributes)
    }

    @Test func `it describes both documents in the contract's namespace`() async throws {
        let schema = try await schema()
        #expect(attributes(schema)["targetNamespace"] == "http://captechventures.com/schema")
        #expect(attributes(schema)["elementFormDefault"] == "qualified")
        let roots = schema.elements(forName: "xs:element").map(attributes)
        #expect(roots.map { $0["name"] } == ["UserList", "user"])
    }

    @Test func `a list has any number of entries without shoe sizes`() async throws {
        let schema = try await schema()
        let entry = try elements(ofType: "UserList", in: schema)
        #expect(entry == [["name": "entry", "minOccurs": "0", "maxOccurs": "unbounded", "type": "tns:UserEntry"]])
        #expect(try elements(ofType: "UserEntry", in: schema).map { $0["name"] } == ["UserId", "UserName"])
    }

    @Test func `a user has the three elements in the contract's order, the number an int`() async throws {
        let schema = try await schema()
        #expect(try elements(ofType: "User", in: schema).map { $0["name"] } == ["UserId", "UserName", "ShoeSize"])
        let bases = try schema.nodes(forXPath: "*[@name='User']/*/*[@name='UserId']/*/*/@base")
        #expect(bases.map(\.stringValue) == ["xs:int"])
    }
}
