import AdapterKit
import ODataModel
import Testing
import WireFormats

@Suite
struct ReadingTests {
    static let shop = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Shop.Model" Alias="Self">
          <EnumType Name="Colour" IsFlags="true"><Member Name="Red" Value="1"/><Member Name="Blue" Value="2"/></EnumType>
          <ComplexType Name="Place"><Property Name="City" Type="Edm.String" MaxLength="40"/></ComplexType>
          <EntityType Name="Thing" Abstract="true"><Key><PropertyRef Name="Id"/></Key>
            <Property Name="Id" Type="Edm.Int32" Nullable="false"/></EntityType>
          <EntityType Name="Product" BaseType="Self.Thing">
            <Property Name="Price" Type="Edm.Decimal" Precision="9" Scale="2"><Annotation Term="Org.OData.Core.V1.Computed"/></Property>
            <Property Name="Colours" Type="Collection(Self.Colour)"/><Property Name="Origin" Type="Shop.Model.Place"/>
            <Property Name="MakerId" Type="Edm.Int32"/>
            <NavigationProperty Name="Maker" Type="Self.Maker"><ReferentialConstraint Property="MakerId" ReferencedProperty="Id"/></NavigationProperty>
          </EntityType>
          <EntityType Name="Maker" BaseType="Self.Thing"/>
          <Function Name="Cheapest"><Parameter Name="count" Type="Edm.Int32" Nullable="false"/><ReturnType Type="Collection(Self.Product)"/></Function>
          <EntityContainer Name="All"><EntitySet Name="Products" EntityType="Self.Product">
              <NavigationPropertyBinding Path="Maker" Target="Makers"/></EntitySet>
            <EntitySet Name="Makers" EntityType="Self.Maker"/>
            <FunctionImport Name="Cheapest" Function="Self.Cheapest" EntitySet="Products"/></EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """

    @Test func `a type has what the types above it have`() throws {
        let model = try EntityDataModel(csdl: Array(Self.shop.utf8))
        let product = try #require(model.entityType(of: "Products"))
        #expect(product.properties.map(\.name) == ["Id", "Price", "Colours", "Origin", "MakerId"])
        #expect(product.key == [KeyProperty(path: ["Id"])])
        #expect(product.property("Price")?.type.facets.scale == .digits(2))
        #expect(product.property("Price")?.annotations.isTagged(CoreTerm.computed) == true)
        #expect(product.property("Colours")?.type.description == "Collection(Shop.Model.Colour)")
        #expect(model.target(of: "Maker", from: "Products") == "Makers")
        #expect(model.family(of: QualifiedName("Shop.Model", "Thing")).count == 3)
    }

    @Test func `what was read survives the way through XML and JSON`() throws {
        let model = try EntityDataModel(csdl: Array(Self.shop.utf8))
        let again = try EntityDataModel(csdl: Array(model.document.xmlText.utf8))
        #expect(again.types == model.types)
        #expect(again.container == model.container)
        let fromJSON = try EntityDataModel(csdl: JSONFormat().write(model.document.jsonValue))
        #expect(fromJSON.types == model.types)
        #expect(fromJSON.container == model.container)
        #expect(fromJSON.operations == model.operations)
    }

    @Test(arguments: [
        ("Self.Colour)\"", "Self.Color)\"", "There is no type Shop.Model.Color."),
        ("Target=\"Makers\"", "Target=\"Brands\"", "A navigation property is bound to Brands"),
        ("<PropertyRef Name=\"Id\"/>", "<PropertyRef Name=\"ID\"/>", "names ID, which is no property of it"),
        ("Name=\"Thing\" Abstract=\"true\"", "Name=\"Thing\" BaseType=\"Self.Maker\"", "derives from itself"),
        ("Function=\"Self.Cheapest\"", "Function=\"Self.Dearest\"", "no unbound function"),
    ])
    func `an unresolved name is refused`(old: String, new: String, message: String) throws {
        let parts = Self.shop.split(separator: old, maxSplits: 1)
        try #require(parts.count == 2)
        let broken = parts.joined(separator: new)
        let problem = #expect(throws: CSDLProblem.self) { try EntityDataModel(csdl: Array(broken.utf8)) }
        #expect(problem?.description.contains(message) == true, "\(String(describing: problem))")
    }

    @Test func `flags are written by their names and read in any form`() throws {
        let model = try EntityDataModel(csdl: Array(Self.shop.utf8))
        let colour = try #require(model.enumeration(QualifiedName("Shop.Model", "Colour")))
        #expect(colour.text(of: 3) == "Red,Blue")
        #expect(colour.value(of: "Red, Blue") == 3)
        #expect(colour.value(of: "Green") == nil)
        #expect(colour.text(of: 4) == "4")
    }
}
