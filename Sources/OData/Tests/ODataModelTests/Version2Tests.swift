import ODataModel
import Testing

@Suite
struct Version2Tests {
    static let orders = """
        <edmx:Edmx xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx" Version="1.0">
        <edmx:DataServices xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" m:DataServiceVersion="2.0">
        <Schema xmlns="http://schemas.microsoft.com/ado/2008/09/edm" Namespace="Sales">
          <EntityType Name="Order"><Key><PropertyRef Name="No"/></Key><Property Name="No" Type="Edm.String" Nullable="false"/>
            <Property Name="At" Type="Edm.DateTime"/><NavigationProperty Name="Items" Relationship="Sales.OrderItems" FromRole="Order" ToRole="Item"/></EntityType>
          <EntityType Name="Item" m:HasStream="true"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
            <Property Name="OrderNo" Type="Edm.String" Nullable="false"/>
            <NavigationProperty Name="Order" Relationship="Sales.OrderItems" FromRole="Item" ToRole="Order"/></EntityType>
          <Association Name="OrderItems"><End Type="Sales.Order" Multiplicity="1" Role="Order"/><End Type="Sales.Item" Multiplicity="*" Role="Item"/>
            <ReferentialConstraint><Principal Role="Order"><PropertyRef Name="No"/></Principal><Dependent Role="Item"><PropertyRef Name="OrderNo"/></Dependent></ReferentialConstraint></Association>
          <EntityContainer Name="C" m:IsDefaultEntityContainer="true"><EntitySet Name="Orders" EntityType="Sales.Order"/><EntitySet Name="Items" EntityType="Sales.Item"/>
            <AssociationSet Name="A" Association="Sales.OrderItems"><End EntitySet="Orders" Role="Order"/><End EntitySet="Items" Role="Item"/></AssociationSet>
            <FunctionImport Name="Close" m:HttpMethod="POST" ReturnType="Sales.Order" EntitySet="Orders"><Parameter Name="No" Type="Edm.String" Mode="In"/></FunctionImport>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    @Test func `associations become navigation both ways`() throws {
        let model = try EntityDataModel(csdl: Array(Self.orders.utf8))
        let items = try #require(model.entityType(of: "Orders")?.navigation("Items"))
        #expect(items.isCollection && items.partner == "Order")
        let order = try #require(model.entityType(of: "Items")?.navigation("Order"))
        #expect(!order.isCollection && !order.isNullable && order.partner == "Items")
        #expect(order.constraints == [ReferentialConstraint(property: "OrderNo", referenced: "No")])
        #expect(model.target(of: "Items", from: "Orders") == "Items")
        #expect(model.target(of: "Order", from: "Items") == "Orders")
    }

    @Test func `types that only version 2 has keep their names`() throws {
        let model = try EntityDataModel(csdl: Array(Self.orders.utf8))
        let at = try #require(model.entityType(of: "Orders")?.property("At"))
        #expect(at.type.type == .primitive(.dateTimeOffset))
        #expect(at.type.facets.legacyType == "DateTime")
        #expect(!model.document.xmlText.contains("legacy"))
    }

    @Test func `a function that is called with POST is an action, and streams are known`() throws {
        let model = try EntityDataModel(csdl: Array(Self.orders.utf8))
        #expect(model.container.actionImport("Close")?.entitySet == "Orders")
        #expect(model.entityType(of: "Items")?.hasStream == true)
        #expect(try EntityDataModel(csdl: Array(model.document.xmlText.utf8)).container == model.container)
    }
}
