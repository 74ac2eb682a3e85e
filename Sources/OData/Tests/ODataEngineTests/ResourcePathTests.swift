import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
import Testing

/// What a path addresses, by the model alone.
@Suite struct ResourcePathTests {
    private static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Shop" Alias="Self">
          <ComplexType Name="Place"><Property Name="Street" Type="Edm.String"/><Property Name="Inner" Type="Shop.Place"/>
            <Property Name="Lines" Type="Collection(Edm.String)"/></ComplexType>
          <ComplexType Name="Room" BaseType="Shop.Place"><Property Name="Door" Type="Edm.Int32"/></ComplexType>
          <EntityType Name="Book"><Key><PropertyRef Name="ID"/></Key><Property Name="ID" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Title" Type="Edm.String"/><Property Name="Shelf" Type="Shop.Place"/>
            <Property Name="Tags" Type="Collection(Edm.String)"/><Property Name="Cover" Type="Edm.Stream"/>
            <NavigationProperty Name="Author" Type="Shop.Author"/><NavigationProperty Name="Similar" Type="Collection(Shop.Book)"/></EntityType>
          <EntityType Name="Comic" BaseType="Shop.Book"><Property Name="Panels" Type="Edm.Int32"/></EntityType>
          <EntityType Name="Author"><Key><PropertyRef Name="Name"/></Key><Property Name="Name" Type="Edm.String" Nullable="false"/>
            <NavigationProperty Name="Books" Type="Collection(Shop.Book)"/></EntityType>
          <EntityType Name="Cell"><Key><PropertyRef Name="X"/><PropertyRef Name="Y"/></Key>
            <Property Name="X" Type="Edm.Int32" Nullable="false"/><Property Name="Y" Type="Edm.Int32" Nullable="false"/></EntityType>
          <EntityType Name="Picture" HasStream="true"><Key><PropertyRef Name="Row"/><PropertyRef Name="Place"/></Key>
            <Property Name="Row" Type="Edm.Int32" Nullable="false"/><Property Name="Place" Type="Edm.String" Nullable="false"/></EntityType>
          <Function Name="Latest"><Parameter Name="Count" Type="Edm.Int32" Nullable="false"/><ReturnType Type="Collection(Shop.Book)"/></Function>
          <Function Name="Latest"><Parameter Name="Count" Type="Edm.Int32" Nullable="false"/><Parameter Name="Title" Type="Edm.String" Nullable="false"/>
            <ReturnType Type="Collection(Shop.Book)"/></Function>
          <Function Name="Among"><Parameter Name="IDs" Type="Collection(Edm.Int32)" Nullable="false"/><ReturnType Type="Collection(Shop.Book)"/></Function>
          <Function Name="Price"><Parameter Name="Of" Type="Edm.Int32" Nullable="false"/><Parameter Name="In" Type="Edm.String">
            <Annotation Term="Org.OData.Core.V1.OptionalParameter"/></Parameter><ReturnType Type="Edm.Decimal"/></Function>
          <Function Name="Today"><ReturnType Type="Edm.Date"/></Function>
          <Function Name="Best" IsBound="true"><Parameter Name="books" Type="Collection(Shop.Book)"/><ReturnType Type="Shop.Book"/></Function>
          <Function Name="Near" IsBound="true"><Parameter Name="book" Type="Shop.Book"/><Parameter Name="By" Type="Edm.Int32" Nullable="false"/>
            <ReturnType Type="Shop.Book"/></Function>
          <Function Name="Frames" IsBound="true"><Parameter Name="comic" Type="Shop.Comic"/><ReturnType Type="Edm.Int32"/></Function>
          <Action Name="Sell" IsBound="true"><Parameter Name="book" Type="Shop.Book"/><Parameter Name="Count" Type="Edm.Int32"/></Action>
          <Action Name="Close"/>
          <EntityContainer Name="C">
            <EntitySet Name="Books" EntityType="Shop.Book"><NavigationPropertyBinding Path="Author" Target="Authors"/>
              <NavigationPropertyBinding Path="Similar" Target="Books"/></EntitySet>
            <EntitySet Name="Authors" EntityType="Shop.Author"><NavigationPropertyBinding Path="Books" Target="Books"/></EntitySet>
            <EntitySet Name="Pictures" EntityType="Shop.Picture"/><EntitySet Name="Cells" EntityType="Shop.Cell"/>
            <Singleton Name="Owner" Type="Shop.Author"><NavigationPropertyBinding Path="Books" Target="Books"/></Singleton>
            <FunctionImport Name="Latest" Function="Shop.Latest" EntitySet="Books"/><FunctionImport Name="Among" Function="Shop.Among"/>
            <FunctionImport Name="Price" Function="Shop.Price"/><FunctionImport Name="Today" Function="Shop.Today"/>
            <ActionImport Name="Close" Action="Shop.Close"/>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func address(_ request: String) throws -> ResourcePath {
        let target = try RequestTarget(request.split(separator: " ").joined(separator: "%20"))
        guard case .path(let segments) = target.resource else { throw QueryProblem("no path") }
        let tables = try ServiceTables(service: "shop", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        return try ResourcePathReader(tables: tables, options: target.options).address(segments)
    }

    private static func text(_ path: ResourcePath) -> String {
        let suffix: String? =
            switch path.suffix {
            case .none: nil
            case .count: "count"
            case .ref: "references"
            case .value: "value"
            }
        let target: String
        switch path.target {
        case .entities(let all): target = text(all)
        case .entity(let one): target = text(one)
        case .property(let one, let property): target = "\(text(one)).\(property.path): \(property.type)"
        case .stream(let one, let name): target = "\(text(one)) stream \(name)"
        case .operation(let call): target = text(call)
        }
        return [suffix, target].compactMap { $0 }.joined(separator: " of ")
    }

    private static func text(_ all: EntityCollectionPath) -> String {
        let rows: String =
            switch all.origin {
            case .all: all.table.source
            case .related(let one, _, let name): "\(text(one))→\(name)"
            case .filtered(let outer, _): "\(text(outer)) filtered"
            }
        return all.type.name == all.table.type.name ? rows : "\(rows) as \(all.type.name.name)"
    }

    private static func text(_ one: EntityPath) -> String {
        let row: String =
            switch one.origin {
            case .key(let id): "\(one.table.source)[\(id.text)]"
            case .related(let owner, _, let name): "\(text(owner))→\(name)"
            case .member(let all, let id): "(\(text(all)))[\(id.text)]"
            }
        return one.type.name == one.table.type.name ? row : "\(row) as \(one.type.name.name)"
    }

    private static func text(_ call: OperationCall) -> String {
        let bound: String? =
            switch call.binding {
            case .none: nil
            case .entity(let one): text(one)
            case .entities(let all): text(all)
            }
        let arguments = call.arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\(text($0.value))" }
        let name = call.overloads.first?.name.name ?? "nothing"
        return [bound, "\(name)(\(arguments.joined(separator: ",")))"].compactMap { $0 }.joined(separator: " ")
            + (call.importedSet.map { " in \($0)" } ?? "")
    }

    private static func text(_ value: WireValue) -> String {
        guard let items = value.arrayValue else { return "\(value)" }
        return "[\(items.map(text).joined(separator: ","))]"
    }

    @Test(
        arguments: [
            ("Books", "Books"), ("Books(7)", "Books[7]"), ("Books(ID=7)", "Books[7]"), ("Books/7", "Books[7]"),
            ("Books(@id)?@id=7", "Books[7]"), ("Authors('Ann')", "Authors[Ann]"), ("Authors/Ann", "Authors[Ann]"),
            ("Pictures(Row=3,Place='a,b')", "Pictures[3,a%2Cb]"), ("Pictures(Place='b',Row=3)", "Pictures[3,b]"),
            ("Cells(Y=4,X=3)", "Cells[3,4]"),
            ("Owner", "Owner[Owner]"), ("Owner/Books(7)", "(Owner[Owner]→Books)[7]"),
            ("Books/$count", "count of Books"), ("Books/$ref", "references of Books"),
            ("Books(7)/$ref", "references of Books[7]"), ("Books(7)/Author", "Books[7]→Author"),
            ("Books(7)/Author/Books/$count", "count of Books[7]→Author→Books"),
            ("Books(7)/Similar(8)/Title", "(Books[7]→Similar)[8].Title: Edm.String"),
            ("Books/Shop.Comic", "Books as Comic"), ("Books/Self.Comic(7)", "Books[7] as Comic"),
            ("Books(7)/Shop.Comic/Panels", "Books[7] as Comic.Panels: Edm.Int32"),
            ("Books/$filter(ID gt 1)/$filter(ID lt 9)/$count", "count of Books filtered filtered"),
            ("Books/$filter(ID gt 1)(7)", "(Books filtered)[7]"),
            ("Books(7)/Title", "Books[7].Title: Edm.String"),
            ("Books(7)/Title/$value", "value of Books[7].Title: Edm.String"),
            ("Books(7)/Tags/$count", "count of Books[7].Tags: Collection(Edm.String)"),
            ("Books(7)/Shelf/Inner/Street", "Books[7].Shelf/Inner/Street: Edm.String"),
            ("Books(7)/Shelf/Shop.Room/Door", "Books[7].Shelf/Door: Edm.Int32"),
            ("Books(7)/Shelf/Lines/$count", "count of Books[7].Shelf/Lines: Collection(Edm.String)"),
            ("Books(7)/Cover", "Books[7] stream Cover"),
            ("Pictures(Row=3,Place='b')/$value", "Pictures[3,b] stream $value"),
            ("Latest(Count=3)", "Latest(Count=int64(3)) in Books"), ("Close", "Close()"), ("Today()", "Today()"),
            ("Today", "Today()"), ("Today()/$value", "value of Today()"),
            ("Latest(Count=@n)?@n=3", "Latest(Count=int64(3)) in Books"),
            ("Latest(Count=3,Title='x')", "Latest(Count=int64(3),Title=string(\"x\")) in Books"),
            ("Latest?Count=3", "Latest(Count=int64(3)) in Books"),
            ("Latest()?Count=3", "Latest(Count=int64(3)) in Books"),
            ("Latest?Count=3&Title='x'", "Latest(Count=int64(3),Title=string(\"x\")) in Books"),
            ("Latest?Count=3&sap-client=1", "Latest(Count=int64(3)) in Books"),
            ("Among(IDs=@ids)?@ids=[1,2]", "Among(IDs=[int64(1),int64(2)])"),
            ("Among(IDs=@ids)?@ids=[]", "Among(IDs=[])"),
            ("Among(IDs=@ids)?@ids=[@one]&@one=1", "Among(IDs=[int64(1)])"),
            ("Price(Of=1)", "Price(Of=int64(1))"), ("Price(Of=1,In='EUR')", "Price(In=string(\"EUR\"),Of=int64(1))"),
            ("Books/Shop.Best()", "Books Best()"), ("Books/$filter(ID gt 1)/Self.Best", "Books filtered Best()"),
            ("Books(7)/Shop.Near(By=2)", "Books[7] Near(By=int64(2))"),
            ("Books(7)/Shop.Comic/Shop.Near(By=2)", "Books[7] as Comic Near(By=int64(2))"),
            ("Books(7)/Shop.Comic/Shop.Frames()", "Books[7] as Comic Frames()"),
            ("Books(7)/Near(By=2)", "Books[7] Near(By=int64(2))"), ("Books(7)/Shop.Sell", "Books[7] Sell()"),
        ] as [(String, String)])
    func `a path leads to what the model has there`(request: String, expected: String) throws {
        #expect(Self.text(try address(request)) == expected)
    }

    @Test(arguments: [
        "Readers", "Books/$value", "Books/Title", "Books(7)/Editor",
        "Books(7)/Title/Length", "Books(7)/Title/$count", "Books(7)/Title/$ref", "Books(7)/Shelf/$value",
        "Books(7)/Shelf/$count", "Books(7)/Shelf/Door", "Books(7)/Shelf/Shop.Book", "Books(7)/Tags/$value",
        "Books(7)/Tags/Street", "Books(7)/Cover/$count", "Books(7)/Cover/Street", "Books(7)/$count", "Books(7)/Panels",
        "Books/Shop.Author", "Books(7)/Shop.Author", "Books/Shop.Near(By=2)", "Books(7)/Shop.Best()",
        "Books(7)/Shop.Frames()", "Authors('Ann')/Shop.Near(By=2)", "Latest(Count=3)/Title", "Books/Shop.Nothing",
        "Pictures/3", "Books(7)/Author/$count", "Owner/$count", "Owner(1)",
    ])
    func `a path that leads nowhere is not found`(request: String) {
        let error = #expect(throws: PorticoError.self) { try address(request) }
        #expect(error?.code == .recordNotFound)
    }

    @Test(arguments: [
        "Books('x')", "Books(No=7)", "Books(ID=7,ID=7)", "Books(ID=7,Title='x')", "Books(@id)", "Books(@id)?@id='x'",
        "Books(@id)?@id=@other&@other=7", "Books(null)", "Books(7)/$value", "Pictures(3)", "Cells(3)",
        "Pictures(Row=3)", "Pictures(Row=3,Row=3)", "Latest", "Latest()", "Latest(Count='x')", "Latest(3)",
        "Latest(Count=3,Other=1)", "Latest?Other=1&Count=3", "Latest?Count=x", "Latest(Title='x')",
        "Among(IDs=@ids)?@ids=[1,'x']", "Among(IDs=1)", "Among(IDs=@ids)?@ids=1", "Price(In='EUR')",
        "Books(7)/Shop.Near()",
    ])
    func `keys and arguments that are none are invalid`(request: String) {
        let error = #expect(throws: PorticoError.self) { try address(request) }
        #expect(error?.code == .requestInvalid)
    }

    @Test func `with arguments in the path, the query has none`() throws {
        #expect(Self.text(try address("Latest(Count=3)?Title='x'")) == "Latest(Count=int64(3)) in Books")
        #expect(Self.text(try address("Latest(Count=3)?Other=1")) == "Latest(Count=int64(3)) in Books")
    }

    @Test func `a key behind $root has each of its parts once`() throws {
        let tables = try ServiceTables(service: "shop", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        func isPlanned(_ key: String) throws -> Bool {
            let target = try RequestTarget("Books?$filter=$root/Cells\(key)/X%20eq%20ID")
            let query = EntityQuery(
                "Books", options: target.options, pageSize: 1, now: WireDate(secondsSince1970: 0))
            do { _ = try query.plan(in: tables) } catch { return false }
            return true
        }
        #expect(try isPlanned("(X=3,Y=4)") && isPlanned("(Y=4,X=3)"))
        for key in ["(3)", "(X=3)", "(X=3,X=4)", "(X=3,Y=4,Z=5)", "(X=3,Z=4)"] {
            #expect(try !isPlanned(key), "\(key)")
        }
    }
}
