import AdapterKit
import ODataModel
import Testing
import WireFormats

/// Documents as they are written, and how they are given on.
@Suite struct DocumentTests {
    @Test func `an XML document begins with its declaration, and markup that stands ready goes in as it is`() {
        var output = XMLOutput()
        output.begin("a", [("b", "1")])
        output.raw("<c/>")
        output.element("d", text: "e")
        output.end()
        #expect(
            String(decoding: output.bytes, as: UTF8.self)
                == "<?xml version=\"1.0\" encoding=\"utf-8\"?><a b=\"1\"><c/><d>e</d></a>")
    }

    @Test func `a document goes to its sink in parts that are large enough, the rest with its end`() throws {
        var parts: [[UInt8]] = []
        let sink = DocumentSink { parts.append($0) }
        var output = XMLOutput(to: sink)
        output.begin("a")
        var goesOn = output.goesOn()
        #expect(goesOn && parts.isEmpty)
        output.element("b", text: String(repeating: "x", count: DocumentSink.partSize))
        goesOn = output.goesOn()
        #expect(goesOn && parts.count == 1 && output.size == 0)
        goesOn = output.goesOn()
        #expect(goesOn && parts.count == 1)
        output.end()
        try output.flush()
        try output.flush()
        #expect(parts.count == 2)
        let whole = String(decoding: Array(parts.joined()), as: UTF8.self)
        #expect(whole.hasPrefix("<?xml ") && whole.hasSuffix("x</b></a>"))
        #expect(
            whole.utf8.count == DocumentSink.partSize
                + "<?xml version=\"1.0\" encoding=\"utf-8\"?><a><b></b></a>".utf8.count)
    }

    @Test func `a sink that fails gets nothing more, and its error comes with the end`() {
        var count = 0
        let sink = DocumentSink { _ in
            count += 1
            throw CancellationError()
        }
        var output = XMLOutput(to: sink)
        for _ in 1...2 {
            output.element("b", text: String(repeating: "x", count: DocumentSink.partSize))
            let goesOn = output.goesOn()
            #expect(!goesOn)
        }
        #expect(count == 1 && !sink.isOpen)
        #expect(throws: CancellationError.self) { try output.flush() }
        #expect(count == 1)
        var plain = XMLOutput()
        let goesOn = plain.goesOn()
        #expect(goesOn)
    }

    @Test func `an element is written with its namespaces, one level deeper than what is around it`() {
        let schema = CSDLElement(
            "Schema", [.init("Namespace", "S")],
            children: [CSDLElement("ComplexType", [.init("Name", "a<b")]), CSDLElement("String", text: "x & y")])
        let services = CSDLElement("DataServices", namespace: CSDLNamespace.edmx, children: [schema])
        let document = CSDLElement(
            "Edmx", namespace: CSDLNamespace.edmx, [.init("Version", "4.01")], children: [services])
        #expect(
            document.xmlText == """
                <?xml version="1.0" encoding="utf-8"?>
                <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01">
                  <edmx:DataServices>
                    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="S">
                      <ComplexType Name="a&lt;b"/>
                      <String>x &amp; y</String>
                    </Schema>
                  </edmx:DataServices>
                </edmx:Edmx>

                """)
    }

    /// A schema's members in a document around them.
    private static func document(_ members: String) -> [UInt8] {
        Array(
            """
            <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01">
            <edmx:Reference Uri="core"><edmx:Include Namespace="Org.OData.Core.V1" Alias="Core"/></edmx:Reference>
            <edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="S">\(members)
            <EntityContainer Name="C"/></Schema></edmx:DataServices></edmx:Edmx>
            """.utf8)
    }

    private static let family = """
        <EntityType Name="Parent"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
          <Property Name="Tags" Type="Collection(Edm.String)" Nullable="false"/>
          <NavigationProperty Name="Children" Type="Collection(S.Child)" Partner="Parent" ContainsTarget="true"/></EntityType>
        <EntityType Name="Child"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
          <NavigationProperty Name="Parent" Type="S.Parent" Nullable="false" Partner="Children"/>
          <NavigationProperty Name="Other" Type="S.Parent"/></EntityType>
        <Annotations Target="S.Child"><Annotation Term="Core.Description" String="A child"/></Annotations>
        """

    @Test func `navigation, nullability and annotations at a distance survive the way through JSON`() throws {
        let model = try EntityDataModel(csdl: Self.document(Self.family))
        let again = try EntityDataModel(csdl: JSONFormat().write(model.document.jsonValue))
        #expect(again.types == model.types)
        let parent = try #require(again.structured(QualifiedName("S", "Parent")))
        #expect(parent.navigation("Children")?.partner == "Parent")
        #expect(parent.property("Tags")?.type.isNullable == false)
        let child = try #require(again.structured(QualifiedName("S", "Child")))
        #expect(child.navigation("Parent")?.isNullable == false && child.navigation("Other")?.isNullable == true)
        let schema = try #require(model.document.jsonValue["S"])
        #expect(schema["$Annotations"]?["S.Child"]?["@Core.Description"] == "A child")
        #expect(schema["Parent"]?["Children"]?["$ContainsTarget"] == true)
        let plain = try EntityDataModel(csdl: Self.document(""))
        #expect(plain.document.jsonValue["S"]?["$Annotations"] == nil)
    }

    @Test func `members of an enumeration count on from the one before`() throws {
        let members = """
            <EnumType Name="E"><Member Name="A"/><Member Name="B"/><Member Name="C" Value="7"/><Member Name="D"/></EnumType>
            """
        let model = try EntityDataModel(csdl: Self.document(members))
        let values = try #require(model.enumeration(QualifiedName("S", "E")))
        #expect(values.members.map(\.value) == [0, 1, 7, 8])
        #expect(values.value(of: "D") == 8 && values.value(of: "7") == 7)
        // Without flags a value has one name.
        #expect(values.value(of: "A,B") == nil)
    }

    @Test(arguments: ["Collection(Edm.Int32)", "Edm.Double", "Edm.Stream"])
    func `a key is of types whose values are equal or not`(type: String) {
        let members = """
            <EntityType Name="T"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="\(type)" Nullable="false"/>
            </EntityType>
            """
        let problem = #expect(throws: CSDLProblem.self) { try EntityDataModel(csdl: Self.document(members)) }
        #expect(problem?.description.contains("T/Id cannot be part of a key.") == true)
    }

    @Test func `a type is closed, concrete and without a stream unless it says otherwise`() {
        let type = StructuredType(name: QualifiedName("S", "T"), isEntity: true)
        #expect(!type.isAbstract && !type.isOpen && !type.hasStream && type.key.isEmpty)
    }

    @Test func `shapes on the earth and in the plane are spatial, and nothing else is`() {
        #expect(PrimitiveType.geographyPoint.isSpatial && PrimitiveType.geometryPoint.isSpatial)
        #expect(!PrimitiveType.string.isSpatial && !PrimitiveType.geometryPoint.isGeography)
    }

    @Test(arguments: [
        ("PT23H59M59S", "23:59:59"), ("PT59M", "00:59:00"), ("PT1.25S", "00:00:01.25"), ("PT24H", nil), ("PT60M", nil),
        ("PT60S", nil), ("P1D", nil), ("PT", nil),
    ])
    func `a duration of less than a day is a time of day of version 2`(text: String, expected: String?) {
        #expect(Version2Time.timeOfDay(text) == expected)
    }

    @Test func `the document of version 2 has labels and versions, and the facets of type definitions`() throws {
        let members = """
            <TypeDefinition Name="Price" UnderlyingType="Edm.Decimal" Precision="9" Scale="3"/>
            <EntityType Name="T"><Key><PropertyRef Name="Id"/></Key><Property Name="Id" Type="Edm.Int32" Nullable="false"/>
              <Property Name="Cost" Type="S.Price"/>
              <Annotation Term="Core.Description" String="Things"/></EntityType>
            """
        let csdl = String(decoding: Self.document(members), as: UTF8.self).replacing(
            "<EntityContainer Name=\"C\"/>",
            with: "<EntityContainer Name=\"C\"><EntitySet Name=\"Ts\" EntityType=\"S.T\"/></EntityContainer>")
        let document = try CSDLElement(xml: EntityDataModel(csdl: Array(csdl.utf8)).version2Document)
        let schema = try #require(document.first("DataServices")?.first("Schema"))
        let type = try #require(schema.first("EntityType"))
        let sap = "http://www.sap.com/Protocols/SAPData"
        #expect(type["{\(sap)}content-version"] == "1" && type["{\(sap)}label"] == "Things")
        let cost = type.all("Property").first { $0["Name"] == "Cost" }
        #expect(cost?["Precision"] == "9" && cost?["Scale"] == "3")
        let set = schema.first("EntityContainer")?.first("EntitySet")
        #expect(set?["{\(sap)}content-version"] == "1" && set?["{\(sap)}label"] == nil)
    }
}
