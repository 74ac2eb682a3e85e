import AdapterKit
import ODataEngine
import ODataModel
import Testing

@Suite
struct ServiceTablesTests {
    private static let library = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="L">
          <EntityType Name="Book"><Key><PropertyRef Name="Isbn"/></Key>
            <Property Name="Isbn" Type="Edm.String" Nullable="false"/><Property Name="Pages" Type="Edm.Int16" Nullable="false" DefaultValue="1"/>
            <Property Name="ShelfRow" Type="Edm.Int32"/><Property Name="ShelfPlace" Type="Edm.String"/><Property Name="Cover" Type="Edm.Stream"/>
            <NavigationProperty Name="Shelf" Type="L.Shelf" Partner="Books"><ReferentialConstraint Property="ShelfRow" ReferencedProperty="Row"/>
              <ReferentialConstraint Property="ShelfPlace" ReferencedProperty="Place"/></NavigationProperty>
            <NavigationProperty Name="Similar" Type="Collection(L.Book)"/></EntityType>
          <EntityType Name="Atlas" BaseType="L.Book"><Property Name="Maps" Type="Edm.Int32" Nullable="false"/></EntityType>
          <EntityType Name="Shelf"><Key><PropertyRef Name="Row"/><PropertyRef Name="Place"/></Key>
            <Property Name="Row" Type="Edm.Int32" Nullable="false"/><Property Name="Place" Type="Edm.String" Nullable="false"/>
            <NavigationProperty Name="Books" Type="Collection(L.Book)" Partner="Shelf"/></EntityType>
          <EntityContainer Name="C"><EntitySet Name="Books" EntityType="L.Book"/><EntitySet Name="Shelves" EntityType="L.Shelf"/>
            <Singleton Name="Best" Type="L.Shelf"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func tables() throws -> ServiceTables {
        try ServiceTables(service: "library", model: EntityDataModel(csdl: Array(Self.library.utf8)))
    }

    @Test func `a set's records have the fields of all its types`() throws {
        let books = try #require(try tables()["Books"])
        #expect(Set(books.columns.keys) == ["Isbn", "Pages", "ShelfRow", "ShelfPlace", "Maps"])
        #expect(books.streams["Cover"] != nil)
        #expect(books.discriminator != nil)
        #expect(books.key == .property("Isbn"))
        let shelves = try #require(try tables()["Shelves"])
        let id = shelves.recordID(key: ["Row": 3, "Place": "a,b"], form: StoredValueCodec(model: try tables().model))
        #expect(id?.text == "3,a%2Cb")
    }

    @Test func `a relation goes by its constraint, its partner's, or by links`() throws {
        let books = try #require(try tables()["Books"]?.relations)
        let shelves = try #require(try tables()["Shelves"]?.relations)
        #expect(
            books["Shelf"]
                == .fields(
                    target: "Shelves",
                    pairs: [.init(near: "ShelfRow", far: "Row"), .init(near: "ShelfPlace", far: "Place")],
                    isCollection: false))
        #expect(
            shelves["Books"]
                == .fields(
                    target: "Books",
                    pairs: [.init(near: "Row", far: "ShelfRow"), .init(near: "Place", far: "ShelfPlace")],
                    isCollection: true))
        #expect(
            books["Similar"]
                == .links(
                    target: "Books", through: "library-Books-Similar", near: LinkTable.near, far: LinkTable.far,
                    isCollection: true))
    }

    @Test func `every entity that is declared can be kept`() throws {
        let entities = try tables().entities()
        #expect(
            entities.map(\.name.text)
                == ["library-Books", "library-Shelves", "library-Best", "library-Books-Similar"])
        for entity in entities { _ = try EntityRules(entity) }
        let books = entities[0]
        #expect(books.field("Pages")?.defaultValue == 1)
        #expect(books.field("Maps")?.isNullable == true)
        #expect(books.indexes.map(\.fields) == [["ShelfRow", "ShelfPlace"]])
        #expect(books.field("Cover_content")?.shape == .data(maximumBytes: 16 * 1_024 * 1_024))
        #expect(books.field("Cover_mediaType")?.isNullable == true)
    }
}
