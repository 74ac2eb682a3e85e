import AdapterKit
import ClientGeneration
import Testing
import ValueTree

@Suite("A generated client")
struct GeneratedTextTests {
    /// A description with one operation, whose parts a test replaces.
    static func description(
        name: String = "shop.order", path: String = "/api/v1/shop/operations/order", summary: String = "Orders.",
        input: WireValue? = nil, output: WireValue? = nil
    ) -> WireValue {
        var operation: WireDictionary = [
            "x-portico-adapter": "shop", "x-portico-name": .string(name), "summary": .string(summary),
            "parameters": [["name": "id", "in": "path", "required": true, "schema": ["type": "integer"]]],
        ]
        if let input { operation["requestBody"] = ["content": ["application/json": ["schema": input]]] }
        let content: WireValue? = output.map { ["content": ["application/json": ["schema": $0]]] }
        operation["responses"] = ["200": content ?? ["description": "Done"]]
        let methods: WireDictionary = ["post": .dictionary(operation)]
        return [
            "paths": .dictionary(WireDictionary(uncheckedUniqueKeys: [.init(key: path, value: .dictionary(methods))]))
        ]
    }

    static func object(_ title: String, _ members: WireDictionary, required: [WireValue] = []) -> WireValue {
        ["type": "object", "title": .string(title), "properties": .dictionary(members), "required": .array(required)]
    }

    static func swift(_ document: WireValue) throws -> String {
        try SwiftWriter().write(ServiceReader.read("shop", from: document)).text
    }

    static func typeScript(_ document: WireValue) throws -> String {
        try TypeScriptWriter().write(ServiceReader.read("shop", from: document)).text
    }

    @Test("lets nothing of a summary become code")
    func summaries() throws {
        let document = Self.description(summary: "Orders.\nfatalError() */ evil() /*")
        #expect(try Self.swift(document).contains("    /// fatalError() */ evil() /*\n"))
        #expect(try Self.typeScript(document).contains("   * fatalError() * / evil() /*\n"))
    }

    @Test("writes names as each language does, and keeps those of messages")
    func names() throws {
        let document = Self.description(
            name: "shop.list-open-orders",
            output: Self.object("order-list", ["UserId": ["type": "integer"], "class": ["type": "string"]]))
        let swift = try Self.swift(document)
        #expect(swift.contains("public func listOpenOrders("))
        #expect(swift.contains("public struct OrderList: Codable"))
        #expect(swift.contains("case userId = \"UserId\"") && swift.contains("public var `class`: String?"))
        let typeScript = try Self.typeScript(document)
        #expect(typeScript.contains("  UserId?: number | null;") && typeScript.contains("listOpenOrders("))
    }

    @Test("keeps two objects of one name apart, and one that is used twice together")
    func objectsOfOneName() throws {
        let document = Self.description(
            input: Self.object("Order", ["count": ["type": "integer"]]),
            output: Self.object("Order", ["total": ["type": "number", "format": "double"]]))
        let model = try ServiceReader.read("shop", from: document)
        #expect(model.types.map(\.name) == ["Order", "OrderFields"])
        #expect(model.operations.first?.input == .object("OrderFields"))
        let same = Self.object("Order", ["count": ["type": "integer"]])
        #expect(try ServiceReader.read("shop", from: Self.description(input: same, output: same)).types.count == 1)
    }

    @Test("calls objects without their service's name, and records alike in every role")
    func titles() throws {
        let order = Self.object("shop_orders", ["count": ["type": "integer"]], required: ["count"])
        let changes = Self.object("shop_ordersChanges", ["count": ["type": "integer"]])
        let model = try ServiceReader.read(
            "shop",
            from: Self.description(
                name: "shop.orders.update", path: "/api/v1/shop/orders/{id}", input: changes, output: order))
        #expect(model.types.map(\.name) == ["Order", "OrderFields"])
        #expect(model.types.flatMap(\.members).allSatisfy { !$0.isRequired })
        let plain = Self.description(
            output: Self.object("shop_Receipt", ["total": ["type": "integer"]], required: ["total"]))
        let receipt = try ServiceReader.read("shop", from: plain).types.first
        #expect(receipt?.name == "Receipt" && receipt?.members.first?.isRequired == true)
    }

    @Test("takes a member that may be null for its object")
    func references() throws {
        let line = Self.object("shop_Line", ["text": ["type": "string"]])
        let members: WireDictionary = ["line": ["anyOf": [line, ["type": "null"]]]]
        let document = Self.description(output: Self.object("shop_Order", members, required: ["line"]))
        let model = try ServiceReader.read("shop", from: document)
        let order = model.types.first { $0.name == "Order" }
        #expect(order?.members.first?.type == .object("Line") && order?.members.first?.isRequired == false)
    }

    @Test("carries each kind of value as the language's own")
    func kinds() throws {
        let members: WireDictionary = [
            "at": ["type": "string", "format": "date-time"], "bytes": ["type": "string", "contentEncoding": "base64"],
            "sure": ["type": "boolean"], "price": ["type": "number"], "rows": ["type": ["integer", "string"]],
            "order": ["type": "string", "enum": ["ASC", "DESC"]], "rest": [:],
            "lines": ["type": "array", "items": Self.object("Line", ["text": ["type": "string"]])],
        ]
        let swift = try Self.swift(
            Self.description(input: Self.object("Order", members, required: ["at", "lines"])))
        for line in [
            "var at: WireDate", "var bytes: Data?", "var sure: Bool?", "var price: Decimal?", "var rows: Int64?",
            "var order: Order?", "var rest: WireValue?", "var lines: [Line]", "case asc = \"ASC\"", "import ValueTree",
        ] { #expect(swift.contains(line), "\(line)") }
    }

    @Test("takes the shortest path of an operation that has several")
    func paths() throws {
        var both = try #require(Self.description()["paths"]?.dictionaryValue)
        both["/o"] = Self.description(path: "/o")["paths"]?["/o"]
        let model = try ServiceReader.read("shop", from: ["paths": .dictionary(both)])
        #expect(model.operations.map(\.path) == [[.literal("o")]])
    }

    @Test("names the services that there are where it is asked for another")
    func unknown() {
        let error = #expect(throws: ServiceReader.UnknownService.self) {
            try ServiceReader.read("bank", from: Self.description())
        }
        #expect(error?.name == "bank" && error?.known == ["shop"])
    }
}
