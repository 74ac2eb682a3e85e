import ODataEngine
import ODataLanguage
import ODataModel
import Testing

/// Texts that the grammar takes, held against a model.
@Suite struct NameCheckTests {
    static let library = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Shop">
          <EnumType Name="Colour"><Member Name="Red" Value="1"/></EnumType>
          <ComplexType Name="Place"><Property Name="Street" Type="Edm.String"/></ComplexType>
          <EntityType Name="Book"><Key><PropertyRef Name="ID"/></Key><Property Name="ID" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Title" Type="Edm.String"/><Property Name="Pages" Type="Edm.Int32"/><Property Name="Colour" Type="Shop.Colour"/>
            <Property Name="Shelf" Type="Shop.Place"/><Property Name="Tags" Type="Collection(Edm.String)"/><Property Name="Cover" Type="Edm.Stream"/>
            <NavigationProperty Name="Author" Type="Shop.Author"/></EntityType>
          <EntityType Name="Comic" BaseType="Shop.Book"><Property Name="Panels" Type="Edm.Int32"/></EntityType>
          <EntityType Name="Author"><Key><PropertyRef Name="Name"/></Key><Property Name="Name" Type="Edm.String" Nullable="false"/>
            <NavigationProperty Name="Books" Type="Collection(Shop.Book)"/></EntityType>
          <Function Name="Latest"><Parameter Name="Count" Type="Edm.Int32" Nullable="false"/><ReturnType Type="Collection(Shop.Book)"/></Function>
          <Function Name="Similar" IsBound="true"><Parameter Name="book" Type="Shop.Book"/><ReturnType Type="Shop.Book"/></Function>
          <EntityContainer Name="C">
            <EntitySet Name="Books" EntityType="Shop.Book"><NavigationPropertyBinding Path="Author" Target="Authors"/></EntitySet>
            <EntitySet Name="Authors" EntityType="Shop.Author"><NavigationPropertyBinding Path="Books" Target="Books"/></EntitySet>
            <FunctionImport Name="Latest" Function="Shop.Latest" EntitySet="Books"/>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    /// Where a text that the grammar takes stops meaning something; nil where it does not.
    private func problem(_ rule: String, _ text: String) throws -> Int? {
        let tree = try #require(GrammarRule(named: rule)).tree(of: text)
        let check = try NameCheck(model: try EntityDataModel(csdl: Array(Self.library.utf8)))
        do {
            try check.check(tree, isAbsolute: rule == "odataUri")
            return nil
        } catch {
            return error.position
        }
    }

    @Test(arguments: [
        "Books(7)/Author/Books", "Books/7/Title/$value", "Books(7)/Shelf/Street/$value", "Books(7)/Tags/$count",
        "Books/Shop.Comic(7)/Panels", "Books(7)/Shop.Similar()/Title", "Latest(Count=3)", "Latest(Count=@n)?@n=3",
        "Books?$filter=Author/Name eq 'Ann' and Colour eq Shop.Colour'Red'", "Books(7)/Cover",
        "Authors?$expand=Books($filter=Pages gt 9;$select=Title)&$orderby=Name desc", "Books?$select=Tags($top=1)",
        "Books/$filter(Pages gt 9)/$count", "Books?$apply=groupby((Author/Name),aggregate(Pages with sum as Total))",
        "$metadata", "Books?$skiptoken=any&sap-client=1",
    ])
    func `what the model has is taken`(text: String) throws {
        let found = try problem("odataRelativeUri", text)
        #expect(found == nil)
    }

    @Test(arguments: [
        ("Readers", 0), ("Books(7)/Editor", 9), ("Books('x')", 6), ("Books(No=7)", 5), ("Books/Latest()", 6),
        ("Books(7)/Shelf/$value", 15), ("Books(7)/Cover/$value", 15), ("Books(7)/$value", 9),
        ("Books(7)/Title/$count", 15),
        ("Books/Shop.Author", 6), ("Books/Title", 6), ("Latest(Count='x')", 0), ("Latest()", 0),
        ("Books?$filter=Editor eq 1", 14), ("Books?$filter=Pages eq 'x'", 14), ("Books?$filter=Title", 14),
        ("Books?$orderby=Title,Editor", 21), ("Books?$select=Title,Editor", 20), ("Books?$select=Title($top=1)", 19),
        ("Books?$expand=Editor", 14), ("Authors?$expand=Books($select=Name)", 30), ("Books/$filter(Editor eq 1)", 14),
        ("Books(7)?$select=Panels", 17), ("Books?$filter=Colour eq Shop.Colour'Blue'", 24),
        ("Books?$apply=aggregate(Editor with sum as Total)", 23),
    ])
    func `what the model lacks is refused where it is named`(text: String, position: Int) throws {
        let found = try problem("odataRelativeUri", text)
        #expect(found == position)
    }

    @Test(arguments: [
        ("filter", "$filter=Pages gt 9", nil), ("filter", "$filter=Name eq 'Ann'", nil),
        ("filter", "$filter=Editor eq 1", 8),
        ("commonExpr", "Pages add 1", nil), ("commonExpr", "concat(Name,'x')", nil),
        ("commonExpr", "Pages add Editor", 10),
        ("commonExpr", "Editor", 0),
        ("expand", "$expand=Author,Editor", 15), ("queryOptions", "$top=1&$orderby=Pages", nil),
        ("resourcePath", "Readers(1)", 0),
        ("memberExpr", "Author/Name", nil), ("memberExpr", "Author/Pages", 7),
        ("guid", "01234567-89ab-cdef-0123-456789abcdef", nil),
        ("odataUri", "http://library.example/a/b/Books", nil),
        ("odataUri", "http://library.example/a/Books(7)/Editor", 34),
    ])
    func `a part alone is held against every set`(rule: String, text: String, position: Int?) throws {
        let found = try problem(rule, text)
        #expect(found == position)
    }

    @Test(arguments: [
        ("#Books(Title,Shelf/Street,Author(Name))/$entity", nil), ("#Books/Shop.Comic(Panels,*)", nil),
        ("#Books(7)/Author/Books(Title)", nil), ("#Edm.String", nil), ("#Collection($ref)", nil),
        ("#Authors/$delta", nil),
        ("#Books(Shop.Similar,@Core.Messages)", nil), ("#Readers", 1), ("#Books(Title,Editor)", 13),
        ("#Books(Shelf/Title)", 13), ("#Books/Comic(Panels)", 7), ("#Books(Comic/Panels)", 7),
        ("#Books(Title/Street)", 13),
    ])
    func `context fragments name what the model has`(text: String, position: Int?) throws {
        let found = try problem("context", text)
        #expect(found == position)
    }
}
