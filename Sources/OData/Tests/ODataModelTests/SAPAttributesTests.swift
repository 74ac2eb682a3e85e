import ODataModel
import Testing
import WireFormats

/// What SAP says of version 2's sets and properties, in version 4's words and back.
@Suite struct SAPAttributesTests {
    static let items = """
        <edmx:Edmx xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx" Version="1.0">
        <edmx:DataServices xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" m:DataServiceVersion="2.0">
        <Schema xmlns="http://schemas.microsoft.com/ado/2008/09/edm" xmlns:sap="http://www.sap.com/Protocols/SAPData" Namespace="Z">
          <EntityType Name="Base"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Secret" Type="Edm.String" sap:filterable="false" sap:sortable="false"/></EntityType>
          <EntityType Name="Item" BaseType="Z.Base">
            <Property Name="Made" Type="Edm.DateTime" sap:creatable="false" sap:updatable="false"/>
            <Property Name="Plant" Type="Edm.String" sap:updatable="false" sap:required-in-filter="true"/>
            <Property Name="Note" Type="Edm.String" sap:creatable="false" sap:heading="A note" sap:quickinfo="What &amp; why"/>
            <Property Name="Price" Type="Edm.Decimal" sap:unit="Currency" sap:filter-restriction="interval"/>
            <Property Name="Currency" Type="Edm.String" sap:semantics="currency-code" sap:visible="false"/>
            <Property Name="Size" Type="Edm.Int32" sap:unit="SizeUnit" sap:text="SizeText"/>
            <Property Name="SizeUnit" Type="Edm.String" sap:semantics="unit-of-measure"/><Property Name="SizeText" Type="Edm.String"/></EntityType>
          <EntityContainer Name="C" m:IsDefaultEntityContainer="true">
            <EntitySet Name="Items" EntityType="Z.Item" sap:creatable="false" sap:searchable="false" sap:countable="false" sap:requires-filter="true"/>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func model() throws -> EntityDataModel { try EntityDataModel(csdl: Array(Self.items.utf8)) }

    private func tags(_ name: String, _ model: EntityDataModel) -> [String] {
        (model.entityType(of: "Items")?.property(name)?.annotations.entries ?? []).map(\.term)
    }

    @Test func `attributes of who sets a property become Computed, Immutable or NonInsertableProperties`() throws {
        let model = try model()
        #expect(tags("Made", model) == [CoreTerm.computed])
        #expect(tags("Plant", model) == [CoreTerm.immutable])
        #expect(model.restrictions(of: "Items").nonInsertable == ["Note"])
        let insert = model.container.entitySet("Items")?.annotations[CoreTerm.insertRestrictions]
        #expect(insert?["Insertable"]?.boolValue == false)
    }

    @Test func `attributes of queries become restrictions of the set, inherited properties included`() throws {
        let restrictions = try model().restrictions(of: "Items")
        #expect(restrictions.nonFilterable == ["Secret"] && restrictions.nonSortable == ["Secret"])
        #expect(restrictions.requiredInFilter == ["Plant"] && restrictions.needsFilter)
        #expect(restrictions.filterExpressions == ["Price": "SingleRange"])
        #expect(!restrictions.isSearchable && !restrictions.isCountable && restrictions.isFilterable)
    }

    @Test func `without attributes everything is allowed`() {
        #expect(SetRestrictions(nil) == SetRestrictions(Annotations()))
        #expect(SetRestrictions(nil).isSearchable && !SetRestrictions(nil).needsFilter)
    }

    @Test func `units, currencies, texts and hidden properties keep their words`() throws {
        let model = try model()
        let item = try #require(model.entityType(of: "Items"))
        #expect(item.property("Price")?.annotations[SAPTerm.currency] == .path("Currency"))
        #expect(item.property("Size")?.annotations[SAPTerm.unit] == .path("SizeUnit"))
        #expect(item.property("Size")?.annotations[SAPTerm.text] == .path("SizeText"))
        #expect(item.property("Currency")?.annotations.isTagged(SAPTerm.hidden) == true)
        #expect(item.property("Note")?.annotations[SAPTerm.heading] == .string("A note"))
        #expect(item.property("Note")?.annotations[SAPTerm.quickInfo] == .string("What & why"))
    }

    @Test func `written as version 2 again every attribute is as it was`() throws {
        func attributes(_ document: CSDLElement) -> [String: [String: String]] {
            let schema = document.first("DataServices")?.first("Schema")
            let elements =
                (schema?.all("EntityType").flatMap { $0.all("Property") } ?? [])
                + (schema?.first("EntityContainer")?.all("EntitySet") ?? [])
            return elements.reduce(into: [:]) { all, element in
                let sap = element.attributes.filter { $0.name.hasPrefix("{\(Version2Namespace.sap)}") }
                let said = sap.filter { !$0.name.hasSuffix("content-version") }.map { ($0.name, $0.value) }
                if !said.isEmpty { all[element["Name"] ?? ""] = Dictionary(said, uniquingKeysWith: { $1 }) }
            }
        }
        let written = attributes(try CSDLElement(xml: try model().version2Document))
        #expect(written == attributes(try CSDLElement(xml: Array(Self.items.utf8))))
    }

    @Test func `the document of version 4 refers to the vocabularies that it uses, and is read again alike`() throws {
        let document = try model().document
        let namespaces = document.all("Reference").flatMap { $0.all("Include") }.compactMap { $0["Namespace"] }
        #expect(
            namespaces == [
                "Org.OData.Capabilities.V1", "Org.OData.Core.V1", "Org.OData.Measures.V1",
                "com.sap.vocabularies.Common.v1",
                "com.sap.vocabularies.UI.v1",
            ])
        let again = try EntityDataModel(csdl: Array(document.xmlText.utf8))
        #expect(again.restrictions(of: "Items") == (try model().restrictions(of: "Items")))
        let json = try EntityDataModel(csdl: JSONFormat().write(document.jsonValue))
        #expect(json.restrictions(of: "Items") == again.restrictions(of: "Items"))
    }
}
