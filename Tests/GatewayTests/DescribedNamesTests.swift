import AdapterKit
import Testing

@testable import Gateway

@Suite struct DescribedNamesTests {
    @Test func `identifiers have letters and digits, and one underscore between them`() {
        #expect(Identifier.of("odata.reference-Products.list") == "odata_reference_Products_list")
        #expect(Identifier.of("/v2/{userId}") == "v2_userId")
        #expect(Identifier.of("*/*").isEmpty)
    }

    @Test func `names that one language writes alike are told apart`() {
        var names = UniqueNames()
        #expect(names.unique("notes_list") == "notes_list")
        #expect(names.unique("notesList") == "notesList_2")
        #expect(names.unique("NotesList") == "NotesList_3")
    }

    @Test func `a value stands once, and another one of its name gets a number`() {
        var components = Components("schemas")
        let first = components.reference("Order") { ["title": .string($0)] }
        let same = components.reference("Order") { ["title": .string($0)] }
        let other = components.reference("Order") { ["title": .string($0), "type": "object"] }
        #expect(first == same && first == ["$ref": "#/components/schemas/Order"])
        #expect(other == ["$ref": "#/components/schemas/Order2"])
        #expect(components.values["Order2"]?["title"] == "Order2" && components.values.count == 2)
    }

    @Test func `objects within objects and lists are referred to, under the service's name`() {
        let line = ObjectShape("Line", members: [Member("text", .string, isRequired: true)])
        let order = ObjectShape(
            "shop_order",
            members: [
                Member("lines", .list(of: .object(line))),
                Member("first", .object(line), isNullable: true, summary: "Of all."),
            ])
        var schemas = SchemaComponents()
        _ = schemas.schema(.object(order), of: "shop")
        #expect(Set(schemas.values.keys) == ["shop_Line", "shop_order"])
        let members = schemas.values["shop_order"]?["properties"]
        #expect(members?["lines"]?["items"] == ["$ref": "#/components/schemas/shop_Line"])
        #expect(
            members?["first"] == [
                "anyOf": [["$ref": "#/components/schemas/shop_Line"], ["type": "null"]], "description": "Of all.",
            ])
    }

    @Test func `who may read and write is said of the access and of the rows`() async throws {
        let host = try await NotesGateway()
        let described = try await host.get("/openapi.json", as: nil).json["x-portico-adapters"]
        let entity = described?.dictionaryValue?.entries.lazy.compactMap {
            $0.value["entities"]?.dictionaryValue?.entries.first
        }.first
        #expect(entity?.value["read"]?.stringValue?.hasSuffix(".") == true)
    }
}
