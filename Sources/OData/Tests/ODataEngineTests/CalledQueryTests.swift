import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
import Testing

/// Queries as the services of other systems are asked them, in both versions.
@Suite struct CalledQueryTests {
    private static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="S">
          <EnumType Name="Colour" IsFlags="true"><Member Name="Red" Value="1"/><Member Name="Blue" Value="2"/></EnumType>
          <ComplexType Name="Place"><Property Name="City" Type="Edm.String"/></ComplexType>
          <EntityType Name="Student"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Name" Type="Edm.String"/>
            <Property Name="Count" Type="Edm.Int64"/><Property Name="GPA" Type="Edm.Decimal" Precision="5" Scale="2"/>
            <Property Name="Share" Type="Edm.Double"/><Property Name="Active" Type="Edm.Boolean"/>
            <Property Name="Born" Type="Edm.Date"/><Property Name="At" Type="Edm.DateTimeOffset"/>
            <Property Name="Record" Type="Edm.Guid"/><Property Name="Call" Type="Edm.TimeOfDay"/>
            <Property Name="Colour" Type="S.Colour"/><Property Name="Place" Type="S.Place"/>
            <Property Name="Tags" Type="Collection(Edm.String)"/>
            <NavigationProperty Name="School" Type="S.School"/><NavigationProperty Name="Topics" Type="Collection(S.School)"/>
          </EntityType>
          <EntityType Name="School"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Title" Type="Edm.String"/>
            <NavigationProperty Name="Head" Type="S.Student"/></EntityType>
          <EntityContainer Name="C"><EntitySet Name="Students" EntityType="S.Student">
              <NavigationPropertyBinding Path="School" Target="Schools"/><NavigationPropertyBinding Path="Topics" Target="Schools"/>
            </EntitySet><EntitySet Name="Schools" EntityType="S.School"><NavigationPropertyBinding Path="Head" Target="Students"/>
            </EntitySet></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    private func query(
        _ options: String, _ version: ServableModel.Version, language: LanguageVersion = .v4, pageSize: Int = 10
    ) throws -> CalledQuery {
        let tables = try ServiceTables(service: "s", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        let text = ("Students?" + options).split(separator: " ").joined(separator: "%20")
        let target = try RequestTarget(text, version: language, limits: LanguageLimits())
        let query = EntityQuery(
            "Students", options: target.options, pageSize: pageSize, now: WireDate(secondsSince1970: 0))
        return try CalledQuery(
            query, filters: [], shape: try query.withoutPlace.plan(in: tables).shape, in: tables, version: version)
    }

    private func filter(_ text: String, _ version: ServableModel.Version, _ language: LanguageVersion = .v4) throws
        -> String
    {
        try query("$filter=" + text, version, language: language).choosing.first?.1 ?? ""
    }

    /// The reason for which the query is refused.
    private func refusal(_ options: String, _ version: ServableModel.Version) -> QueryProblem? {
        do {
            _ = try query(options, version)
            return nil
        } catch { return error as? QueryProblem }
    }

    @Test(
        arguments: [
            ("ID eq 7", "ID eq 7", "ID eq 7"),
            ("Name eq 'it''s'", "Name eq 'it''s'", "Name eq 'it''s'"),
            ("Name eq null", "Name eq null", "Name eq null"),
            ("null ne Name", "null ne Name", "null ne Name"),
            ("Count gt 5", "Count gt 5L", "Count gt 5"),
            ("GPA ge 3.5", "GPA ge 3.5M", "GPA ge 3.5"),
            ("Active eq true", "Active eq true", "Active eq true"),
            ("At lt 2026-01-01T00:00:00Z", "At lt datetimeoffset'2026-01-01T00:00:00Z'", "At lt 2026-01-01T00:00:00Z"),
            (
                "Record eq 00000000-0000-4000-8000-000000000001",
                "Record eq guid'00000000-0000-4000-8000-000000000001'",
                "Record eq 00000000-0000-4000-8000-000000000001"
            ),
            ("Place/City eq 'Oxford'", "Place/City eq 'Oxford'", "Place/City eq 'Oxford'"),
            ("contains(Name,'x')", "substringof('x',Name)", "contains(Name,'x')"),
            ("not contains(Name,'x')", "not (substringof('x',Name))", "not (contains(Name,'x'))"),
            ("not startswith(Name,'x')", "not (startswith(Name,'x'))", "not (startswith(Name,'x'))"),
            ("ID in (1,2)", "ID eq 1 or ID eq 2", "ID eq 1 or ID eq 2"),
            ("Name in ('a',null)", "Name eq 'a' or Name eq null", "Name eq 'a' or Name eq null"),
            ("not (Name in ('a',null))", "not (Name eq 'a' or Name eq null)", "not (Name eq 'a' or Name eq null)"),
            (
                "ID in (1,2) and Active eq true", "(ID eq 1 or ID eq 2) and (Active eq true)",
                "(ID eq 1 or ID eq 2) and (Active eq true)"
            ),
            ("ID add 1 gt 2", "(ID add 1L) gt 2L", "(ID add 1) gt 2"),
            ("ID gt -1", "ID gt -1", "ID gt -1"),
            ("length(tolower(Name)) eq 3", "length(tolower(Name)) eq 3", "length(tolower(Name)) eq 3"),
            ("year(At) eq 2026", "year(At) eq 2026", "year(At) eq 2026"),
            ("At gt now()", "At gt datetimeoffset'1970-01-01T00:00:00Z'", "At gt 1970-01-01T00:00:00Z"),
        ])
    func `a filter has the same meaning in both versions`(_ text: String, _ version2: String, _ version4: String) throws
    {
        #expect(try filter(text, .version2) == version2)
        #expect(try filter(text, .version4) == version4)
    }

    @Test func `literals of version 2 are written in version 4's way`() throws {
        #expect(try filter("substringof('x',Name)", .version4, .v2) == "contains(Name,'x')")
        #expect(try filter("GPA gt 3.5M and Count eq 2L", .version4, .v2) == "(GPA gt 3.5) and (Count eq 2)")
        #expect(
            try filter("At ge datetimeoffset'2026-01-01T00:00:00Z'", .version4, .v2) == "At ge 2026-01-01T00:00:00Z")
        #expect(try filter("Born eq datetime'2001-02-03T00:00:00'", .version4, .v2) == "Born eq 2001-02-03")
    }

    @Test(
        arguments: [
            ("$filter=School/Title eq 'x'", "School"), ("$filter=Topics/any(t:t/ID eq 1)", "`any`"),
            ("$filter=Topics/$count gt 1", "Topics"), ("$filter=GPA div 2 gt 1", "`div`"),
            ("$filter=ID in ()", "`in`"), ("$filter=Name gt null", "null"),
            ("$filter=cast(ID,Edm.String) eq '1'", "`cast`"), ("$search=x", "`$search`"),
            ("$apply=aggregate($count as N)", "`$apply`"),
            ("$compute=ID add 1 as Next", "`$compute`"), ("$expand=Topics($filter=ID eq 1)", "`$filter`"),
        ])
    func `what has no equal there is not asked and is named`(_ options: String, _ part: String) {
        for version in [ServableModel.Version.version2, .version4] {
            guard let problem = refusal(options, version) else {
                // The language itself may refuse it.
                if options.hasSuffix("()") { continue }
                Issue.record("\(options) is asked")
                continue
            }
            #expect(problem.kind == .notSupported && problem.message.contains(part), "\(problem)")
        }
    }

    @Test func `functions that one version has alone are not asked of the other`() {
        #expect(refusal("$filter=date(At) eq 2026-01-01", .version2)?.kind == .notSupported)
        #expect(refusal("$filter=round(GPA) eq 3", .version2)?.kind == .notSupported)
        #expect(refusal("$filter=date(At) eq 2026-01-01", .version4) == nil)
        #expect(refusal("$filter=Colour has S.Colour'Red'", .version2)?.kind == .notSupported)
        #expect(refusal("$filter=Colour has S.Colour'Red'", .version4) == nil)
    }

    @Test func `a filter that is too long for an address is a limit`() {
        let values = (0..<600).map { "'a value of some length \($0)'" }.joined(separator: ",")
        #expect(refusal("$filter=Name in (\(values))", .version4)?.kind == .limitExceeded)
    }

    @Test func `a page is ordered by the key behind the caller's order, and asks for one entity more`() throws {
        let page = try query("$orderby=Name desc&$skip=5&$count=true&$select=Name", .version4).page
        #expect(page.first { $0.0 == "$orderby" }?.1 == "Name desc,ID desc")
        #expect(page.first { $0.0 == "$top" }?.1 == "11" && page.first { $0.0 == "$skip" }?.1 == "5")
        #expect(page.contains { $0 == ("$count", "true") })
        let older = try query("$top=3&$count=true", .version2).page
        #expect(older.contains { $0 == ("$inlinecount", "allpages") })
        #expect(older.first { $0.0 == "$top" }?.1 == "3" && older.first { $0.0 == "$orderby" }?.1 == "ID asc")
    }

    @Test func `a later page begins behind those before`() throws {
        let page = try query("$top=25&$skip=2&$skiptoken=20", .version4)
        #expect((page.offset, page.done, page.pageLimit, page.hasFurtherPages) == (22, 20, 5, false))
        #expect(page.page.first { $0.0 == "$top" }?.1 == "5")
        #expect(refusal("$skiptoken=x", .version4)?.kind == .invalid)
        #expect(refusal("$skiptoken=-1", .version4)?.kind == .invalid)
    }

    @Test func `a function's result is asked for without an order or a page of ours`() throws {
        #expect(try query("$select=Name&$filter=ID gt 1", .version4).result.map(\.0) == ["$filter", "$select"])
        let ordered = try query("$orderby=Name&$top=2&$skip=1&$count=true", .version4).result
        #expect(ordered.map(\.0).suffix(4) == ["$orderby", "$top", "$skip", "$count"])
    }

    @Test func `what is expanded is named in the other version's way`() throws {
        let nested = "$expand=School($expand=Head),Topics"
        let four = try query(nested, .version4).shaping
        #expect(four.first { $0.0 == "$expand" }?.1 == "School($expand=Head),Topics")
        let two = try query(nested, .version2).shaping
        #expect(two.first { $0.0 == "$expand" }?.1 == "School,School/Head,Topics")
        let selected = try query("$select=Name&$expand=School", .version2).shaping
        #expect(selected.first { $0.0 == "$select" }?.1.split(separator: ",").contains("School") == true)
    }
}
