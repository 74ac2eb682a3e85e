import ClientGeneration
import ODataModel
import Testing

@Suite("A generated OData client")
struct ODataTextTests {
    private static func files(_ schema: String, _ container: String = "") throws -> [String: String] {
        let document = """
            <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
            <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Shop">\(schema)
            <EntityContainer Name="Container">\(container)</EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
            """
        let service = ODataServiceWriter("shop", try EntityDataModel(csdl: Array(document.utf8)))
        return Dictionary(uniqueKeysWithValues: service.files.map { ($0.name, $0.text) })
    }

    private static func entity(_ name: String, _ content: String) -> String {
        """
        <EntityType Name="\(name)"><Key><PropertyRef Name="ID"/></Key>
        <Property Name="ID" Type="Edm.Int32" Nullable="false"/>\(content)</EntityType>
        """
    }

    @Test("has a file for the service and one for each type, and names that Swift takes")
    func names() throws {
        let files = try Self.files(
            Self.entity("Type", "<Property Name=\"class\" Type=\"Edm.String\"/>")
                + Self.entity("order-line".replacing("-", with: "_"), "")
                + Self.entity("String", "<Property Name=\"Größe\" Type=\"Edm.Int32\"/>"),
            "<EntitySet Name=\"default\" EntityType=\"Shop.Type\"/>")
        #expect(
            files.keys.sorted() == [
                "ShopService+OrderLine.swift", "ShopService+StringValue.swift", "ShopService+TypeValue.swift",
                "ShopService.swift",
            ])
        #expect(files["ShopService+TypeValue.swift"]?.contains("public var `class`: String?") == true)
        #expect(
            files["ShopService.swift"]?.contains(
                "public var `default`: ODataSet<TypeValue> { ODataSet(connection, \"default\") }")
                == true)
    }

    @Test("keeps two properties apart whose names differ in what Swift's names do not have")
    func twins() throws {
        let text = try Self.files(
            Self.entity(
                "Item",
                "<Property Name=\"unit_price\" Type=\"Edm.Decimal\"/><Property Name=\"UnitPrice\" Type=\"Edm.Decimal\"/>"
            )
        )["ShopService+Item.swift"]
        #expect(text?.contains("public var unitPrice: Decimal?") == true)
        #expect(text?.contains("public var unitPrice2: Decimal?") == true)
        #expect(text?.contains("row.set(\"UnitPrice\", self.unitPrice2)") == true)
    }

    @Test("lets an entity lead to one of its own type, which a structure cannot hold")
    func recursion() throws {
        let text = try Self.files(
            Self.entity("Employee", "<NavigationProperty Name=\"Manager\" Type=\"Shop.Employee\"/>"))[
                "ShopService+Employee.swift"]
        #expect(text?.contains("private var oneManager: [Employee] = []") == true)
        #expect(text?.contains("public var manager: ODataLink<Employee> { .init(odataPath, \"Manager\") }") == true)
    }

    @Test("names what the client has no types for, and leaves it out")
    func leftOut() throws {
        let files = try Self.files(
            Self.entity("Place", "<Property Name=\"Where\" Type=\"Edm.GeographyPoint\"/>")
                + "<Function Name=\"Near\"><Parameter Name=\"at\" Type=\"Edm.GeographyPoint\"/><ReturnType Type=\"Edm.Int32\"/></Function>",
            "<FunctionImport Name=\"Near\" Function=\"Shop.Near\"/>")
        #expect(files["ShopService.swift"]?.contains("has no types for it: Place.Where, Near.") == true)
        #expect(files["ShopService.swift"]?.contains("func near") == false)
    }
}
