import AdapterKit
import ODataEngine
import ODataModel
import Testing

/// Keys as links have them.
@Suite struct LiteralTextTests {
    private static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="K">
          <EnumType Name="Colour"><Member Name="Red" Value="1"/></EnumType>
          <EntityType Name="Word"><Key><PropertyRef Name="Text"/></Key><Property Name="Text" Type="Edm.String" Nullable="false"/></EntityType>
          <EntityType Name="Lot"><Key><PropertyRef Name="Row"/><PropertyRef Name="Place"/><PropertyRef Name="Day"/></Key>
            <Property Name="Row" Type="Edm.Int32" Nullable="false"/><Property Name="Place" Type="Edm.String" Nullable="false"/>
            <Property Name="Day" Type="Edm.Date" Nullable="false"/></EntityType>
          <EntityContainer Name="C"><EntitySet Name="Words" EntityType="K.Word"/><EntitySet Name="Lots" EntityType="K.Lot"/>
            <Singleton Name="Best" Type="K.Word"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func tables() throws -> ServiceTables {
        try ServiceTables(service: "keys", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
    }

    @Test func `a key of one part is that part, of several it names them, and a singleton has none`() throws {
        let tables = try tables()
        func predicate(_ source: String, _ fields: WireDictionary) throws -> String {
            try #require(tables[source]).keyPredicate(fields, model: tables.model)
        }
        #expect(try predicate("Words", ["Text": "O'Neil/ä b"]) == "('O''Neil%2F%C3%A4%20b')")
        #expect(try predicate("Words", [:]) == "(null)")
        #expect(
            try predicate("Lots", ["Row": 3, "Place": "a,b", "Day": "2024-02-29"])
                == "(Row=3,Place='a,b',Day=2024-02-29)")
        #expect(try predicate("Lots", ["Row": 3]) == "(Row=3,Place=null,Day=null)")
        #expect(try predicate("Best", ["Text": "x"]) == "")
    }

    @Test func `a value has the text that a URL has it in`() throws {
        let literals = LiteralText(model: try tables().model)
        func text(_ value: WireValue, _ type: PrimitiveType) -> String? {
            literals.text(value, as: TypeReference(.primitive(type)))
        }
        #expect(text("it's", .string) == "'it''s'" && text("", .string) == "''")
        #expect(text(3600, .duration) == "duration'PT1H'" && text(.data([1, 2]), .binary) == "binary'AQI'")
        #expect(text(-7, .int32) == "-7" && text(true, .boolean) == "true" && text(.double(1.5), .double) == "1.5")
        #expect(
            literals.text(1, as: TypeReference(.enumeration(QualifiedName("K", "Colour")))) == "K.Colour'Red'")
        #expect(text(["a"], .string) == nil)
    }

    @Test func `the record of a key is found again from its id`() throws {
        let tables = try tables()
        let form = StoredValueCodec(model: tables.model)
        let lots = try #require(tables["Lots"])
        for place in ["a,b", "50%", "x\u{1F}y", "\u{7F}", "plain", "ä"] {
            let key: WireDictionary = ["Row": -3, "Place": .string(place), "Day": "2024-02-29"]
            let id = try #require(lots.recordID(fields: key, form: form))
            #expect(
                id == lots.recordID(key: ["Row": -3, "Place": .string(place), "Day": "2024-02-29"], form: form))
            #expect(id.text.split(separator: ",").count == 3)
            #expect(lots.keyFields(of: id, form: form) == key)
        }
        #expect(lots.recordID(fields: ["Row": 1, "Place": "a"], form: form) == nil)
        #expect(lots.recordID(key: ["Row": 1, "Place": "a"], form: form) == nil)
        let words = try #require(tables["Words"])
        #expect(words.recordID(fields: ["Text": "a,b"], form: form)?.text == "a,b")
        #expect(words.keyFields(of: RecordID(unchecked: "a,b"), form: form) == ["Text": "a,b"])
        let best = try #require(tables["Best"])
        #expect(best.recordID(fields: ["Text": "x"], form: form)?.text == "Best")
        #expect(best.keyFields(of: RecordID(unchecked: "Best"), form: form).isEmpty)
    }

    @Test(arguments: [("1", "2"), ("a:b", "c"), ("12", "3:4"), ("ä", "ö")])
    func `a pair's record tells both keys`(near: String, far: String) throws {
        let text = LinkTable.pair(RecordID(unchecked: near), RecordID(unchecked: far))
        let keys = try #require(LinkTable.keys(of: RecordID(unchecked: text)))
        #expect(keys.near.text == near && keys.far.text == far)
    }

    @Test(arguments: ["", "x", "1:", "1:a", "0:ab", "-1:ab", "9:abc", "x:abc"])
    func `what is no pair's key is none`(text: String) {
        #expect(LinkTable.keys(of: RecordID(unchecked: text)) == nil)
    }
}
