import ODataModel
import Testing

@Suite
struct Version2DocumentTests {
    static let school = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01">
        <edmx:Reference Uri="core"><edmx:Include Namespace="Org.OData.Core.V1" Alias="Core"/></edmx:Reference>
        <edmx:Reference Uri="caps"><edmx:Include Namespace="Org.OData.Capabilities.V1" Alias="Caps"/></edmx:Reference>
        <edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="S">
          <EnumType Name="Kind"><Member Name="A" Value="1"/></EnumType>
          <TypeDefinition Name="Code" UnderlyingType="Edm.String" MaxLength="7"/>
          <ComplexType Name="Place"><Property Name="City" Type="Edm.String"/></ComplexType>
          <EntityType Name="Person" Abstract="true"><Key><PropertyRef Name="Id"/></Key>
            <Property Name="Id" Type="Edm.Int64" Nullable="false"/></EntityType>
          <EntityType Name="Student" BaseType="S.Person" HasStream="true">
            <Property Name="Born" Type="Edm.Date"/><Property Name="Wakes" Type="Edm.TimeOfDay" Precision="3"/>
            <Property Name="Seen" Type="Edm.DateTimeOffset"/><Property Name="Stay" Type="Edm.Duration"/>
            <Property Name="Grade" Type="Edm.Decimal" Precision="3" Scale="2" Nullable="false" DefaultValue="1.50"/>
            <Property Name="Kind" Type="S.Kind"/><Property Name="Code" Type="S.Code"/><Property Name="Home" Type="S.Place"/>
            <Property Name="Tags" Type="Collection(Edm.String)" Nullable="false"/><Property Name="At" Type="Edm.GeographyPoint"/>
            <Property Name="Photo" Type="Edm.Stream"/><Property Name="SchoolId" Type="Edm.Int32"/>
            <Property Name="Sum" Type="Edm.Int32"><Annotation Term="Core.Computed"/>
              <Annotation Term="Core.Description" String="Sum &amp; more"/></Property>
            <NavigationProperty Name="School" Type="S.School" Partner="Students"><ReferentialConstraint Property="SchoolId" ReferencedProperty="Id"/></NavigationProperty>
            <NavigationProperty Name="Friends" Type="Collection(S.Student)"/></EntityType>
          <EntityType Name="School"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
            <NavigationProperty Name="Students" Type="Collection(S.Student)" Partner="School"><OnDelete Action="Cascade"/></NavigationProperty></EntityType>
          <Function Name="Best"><Parameter Name="Count" Type="Edm.Int32" Nullable="false"/><Parameter Name="Since" Type="Edm.Date"/><ReturnType Type="Collection(S.Student)"/></Function>
          <Function Name="Near"><Parameter Name="Point" Type="Edm.GeographyPoint"/><ReturnType Type="S.Student"/></Function>
          <Action Name="Move"><Parameter Name="Id" Type="Edm.Int64" Nullable="false"/></Action>
          <EntityContainer Name="C">
            <EntitySet Name="Students" EntityType="S.Student"><NavigationPropertyBinding Path="School" Target="Schools"/><NavigationPropertyBinding Path="Friends" Target="Students"/>
              <Annotation Term="Caps.DeleteRestrictions"><Record><PropertyValue Property="Deletable" Bool="false"/></Record></Annotation></EntitySet>
            <EntitySet Name="Schools" EntityType="S.School"><NavigationPropertyBinding Path="Students" Target="Students"/></EntitySet>
            <FunctionImport Name="Best" Function="S.Best" EntitySet="Students"/><FunctionImport Name="Near" Function="S.Near"/>
            <ActionImport Name="Move" Action="S.Move"/>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func written(_ csdl: String = Self.school) throws -> (document: CSDLElement, model: EntityDataModel) {
        let bytes = try EntityDataModel(csdl: Array(csdl.utf8)).version2Document
        return (try CSDLElement(xml: bytes), try EntityDataModel(csdl: bytes))
    }

    private func type(_ name: String) throws -> CSDLElement {
        let schema = try #require(try written().document.first("DataServices")?.first("Schema"))
        return try #require(schema.all("EntityType").first { $0["Name"] == name })
    }

    @Test func `the document is version 1 of EDMX for version 2 of the protocol`() throws {
        let document = try written().document
        #expect(document.namespace == Version2Namespace.edmx && document["Version"] == "1.0")
        let services = try #require(document.first("DataServices"))
        #expect(services["{\(Version2Namespace.metadata)}DataServiceVersion"] == "2.0")
        #expect(services.first("Schema")?.namespace == Version2Namespace.edm)
    }

    @Test(arguments: [
        ("Born", "Edm.DateTime"), ("Wakes", "Edm.Time"), ("Seen", "Edm.DateTimeOffset"), ("Stay", "Edm.String"),
        ("Grade", "Edm.Decimal"), ("Kind", "Edm.String"), ("Code", "Edm.String"), ("Home", "S.Place"),
        ("Tags", "Edm.String"), ("At", "Edm.String"),
    ])
    func `every property has a type that version 2 knows`(name: String, type: String) throws {
        let property = try #require(try self.type("Student").all("Property").first { $0["Name"] == name })
        #expect(property["Type"] == type)
    }

    @Test func `facets, defaults and SAP's annotations are written`() throws {
        let properties = try type("Student").all("Property")
        func property(_ name: String) -> CSDLElement? { properties.first { $0["Name"] == name } }
        let sap = "{\(Version2Namespace.sap)}"
        #expect(property("Grade")?["Precision"] == "3" && property("Grade")?["Scale"] == "2")
        #expect(property("Grade")?["Nullable"] == "false" && property("Grade")?["DefaultValue"] == "1.50")
        #expect(property("Code")?["MaxLength"] == "7")
        #expect(property("Born")?["\(sap)display-format"] == "Date")
        #expect(property("Sum")?["\(sap)label"] == "Sum & more")
        #expect(property("Sum")?["\(sap)creatable"] == "false" && property("Sum")?["\(sap)updatable"] == "false")
        #expect(property("Tags")?["\(sap)filterable"] == "false" && property("Grade")?["\(sap)filterable"] == nil)
        #expect(property("Photo") == nil)
        #expect(try type("Student")["{\(Version2Namespace.metadata)}HasStream"] == "true")
    }

    @Test func `read again it leads to the same entities the same way`() throws {
        let model = try written().model
        let school = try #require(model.entityType(of: "Students")?.navigation("School"))
        #expect(!school.isCollection && school.isNullable && school.partner == "Students")
        #expect(school.constraints == [ReferentialConstraint(property: "SchoolId", referenced: "Id")])
        let students = try #require(model.entityType(of: "Schools")?.navigation("Students"))
        #expect(students.isCollection && students.partner == "School" && students.onDelete == .cascade)
        #expect(model.entityType(of: "Students")?.navigation("Friends")?.isCollection == true)
        #expect(model.target(of: "School", from: "Students") == "Schools")
        #expect(model.target(of: "Friends", from: "Students") == "Students")
        #expect(model.entityType(of: "Students")?.key == [KeyProperty(path: ["Id"])])
        #expect(model.structured(QualifiedName("S", "Student"))?.baseType == QualifiedName("S", "Person"))
    }

    @Test func `partners share one association, and sets one association set`() throws {
        let schema = try #require(try written().document.first("DataServices")?.first("Schema"))
        #expect(schema.all("Association").count == 2)
        #expect(schema.first("EntityContainer")?.all("AssociationSet").count == 2)
        let names = schema.all("Association").compactMap { $0["Name"] }
        #expect(Set(names) == ["Student_School", "Student_Friends"])
    }

    @Test func `operations that version 2 can call are function imports`() throws {
        let (document, model) = try written()
        let container = try #require(document.first("DataServices")?.first("Schema")?.first("EntityContainer"))
        #expect(container.all("FunctionImport").compactMap { $0["Name"] } == ["Best", "Move"])
        #expect(container.all("FunctionImport").first?["ReturnType"] == "Collection(S.Student)")
        #expect(model.container.functionImport("Best")?.entitySet == "Students")
        #expect(model.container.actionImport("Move") != nil)
        let sets = container.all("EntitySet")
        #expect(sets.first { $0["Name"] == "Students" }?["{\(Version2Namespace.sap)}deletable"] == "false")
    }

    @Test func `SAP's attributes survive reading and writing`() throws {
        let sap = Version2Tests.orders.replacing(
            "<edmx:DataServices ", with: "<edmx:DataServices xmlns:sap=\"\(Version2Namespace.sap)\" "
        )
        .replacing("Name=\"At\"", with: "Name=\"At\" sap:label=\"Ordered &lt;at&gt;\"")
        .replacing(
            "<EntitySet Name=\"Orders\"",
            with: "<EntitySet Name=\"Orders\" sap:deletable=\"false\" sap:creatable=\"true\"")
        let (document, model) = try written(sap)
        let property = model.entityType(of: "Orders")?.property("At")
        #expect(property?.annotations[SAPTerm.label]?.stringValue == "Ordered <at>")
        let schema = document.first("DataServices")?.first("Schema")
        let set = schema?.first("EntityContainer")?.first("EntitySet")
        #expect(set?["{\(Version2Namespace.sap)}deletable"] == "false")
        #expect(set?["{\(Version2Namespace.sap)}creatable"] == nil)
    }

    @Test func `a set that nobody may write takes nothing, and its neighbours what the model says`() throws {
        let model = try EntityDataModel(csdl: Array(Version2Tests.orders.utf8))
        let names = model.container.entitySets.map(\.name)
        let closed = try #require(names.first)
        let document = try CSDLElement(xml: model.version2Document(closed: [closed]))
        let schemas = document.first("DataServices")?.all("Schema") ?? []
        let sets = schemas.flatMap { $0.all("EntityContainer") }.flatMap { $0.all("EntitySet") }
        #expect(sets.count == names.count)
        for set in sets {
            for word in ["creatable", "updatable", "deletable"] {
                #expect((set["{\(Version2Namespace.sap)}\(word)"] == "false") == (set["Name"] == closed), "\(set)")
            }
        }
    }

    @Test func `a document of version 2 comes out as it went in`() throws {
        let (document, model) = try written(Version2Tests.orders)
        let original = try EntityDataModel(csdl: Array(Version2Tests.orders.utf8))
        #expect(model.container.entitySets == original.container.entitySets)
        #expect(model.types == original.types)
        #expect(model.operations == original.operations)
        let container = document.first("DataServices")?.first("Schema")?.first("EntityContainer")
        let call = container?.first("FunctionImport")
        #expect(call?["{\(Version2Namespace.metadata)}HttpMethod"] == "POST" && call?["EntitySet"] == "Orders")
    }
}
