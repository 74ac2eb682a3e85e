import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
import Testing

/// What a model's capabilities exclude of a set is refused before anything is read.
@Suite struct RestrictionCheckTests {
    private static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01">
        <edmx:Reference Uri="https://example.org/Org.OData.Capabilities.V1.xml">
          <edmx:Include Namespace="Org.OData.Capabilities.V1" Alias="Capabilities"/></edmx:Reference><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="R">
          <ComplexType Name="Place"><Property Name="City" Type="Edm.String"/></ComplexType>
          <EntityType Name="Order"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Note" Type="Edm.String"/>
            <Property Name="NoteCount" Type="Edm.Int32"/><Property Name="Place" Type="R.Place"/>
            <Property Name="Day" Type="Edm.Int32"/><Property Name="Customer" Type="Edm.String"/>
            <Property Name="Kind" Type="Edm.String"/><Property Name="Tags" Type="Collection(Edm.String)"/>
            <NavigationProperty Name="Lines" Type="Collection(R.Order)"/></EntityType>
          <EntityContainer Name="C">
            <EntitySet Name="Free" EntityType="R.Order"><NavigationPropertyBinding Path="Lines" Target="Orders"/></EntitySet>
            <EntitySet Name="Closed" EntityType="R.Order">
              <Annotation Term="Capabilities.FilterRestrictions"><Record><PropertyValue Property="Filterable" Bool="false"/></Record></Annotation>
              <Annotation Term="Capabilities.SortRestrictions"><Record><PropertyValue Property="Sortable" Bool="false"/></Record></Annotation>
              <Annotation Term="Capabilities.SearchRestrictions"><Record><PropertyValue Property="Searchable" Bool="false"/></Record></Annotation>
              <Annotation Term="Capabilities.CountRestrictions"><Record><PropertyValue Property="Countable" Bool="false"/></Record></Annotation>
            </EntitySet>
            <EntitySet Name="Orders" EntityType="R.Order"><NavigationPropertyBinding Path="Lines" Target="Orders"/>
              <Annotation Term="Capabilities.FilterRestrictions"><Record><PropertyValue Property="NonFilterableProperties"><Collection>
                <PropertyPath>Note</PropertyPath><PropertyPath>Place</PropertyPath></Collection></PropertyValue></Record></Annotation>
              <Annotation Term="Capabilities.SortRestrictions"><Record><PropertyValue Property="NonSortableProperties"><Collection>
                <PropertyPath>Note</PropertyPath></Collection></PropertyValue></Record></Annotation>
            </EntitySet>
            <EntitySet Name="Chosen" EntityType="R.Order">
              <Annotation Term="Capabilities.FilterRestrictions"><Record><PropertyValue Property="RequiresFilter" Bool="true"/></Record></Annotation>
            </EntitySet>
            <EntitySet Name="Daily" EntityType="R.Order">
              <Annotation Term="Capabilities.FilterRestrictions"><Record><PropertyValue Property="RequiredProperties"><Collection>
                <PropertyPath>Day</PropertyPath><PropertyPath>Customer</PropertyPath></Collection></PropertyValue></Record></Annotation>
            </EntitySet>
            <EntitySet Name="Narrow" EntityType="R.Order">
              <Annotation Term="Capabilities.FilterRestrictions"><Record><PropertyValue Property="FilterExpressionRestrictions"><Collection>
                <Record><PropertyValue Property="Property" PropertyPath="Customer"/><PropertyValue Property="AllowedExpressions" String="SingleValue"/></Record>
                <Record><PropertyValue Property="Property" PropertyPath="Kind"/><PropertyValue Property="AllowedExpressions" String="MultiValue"/></Record>
                <Record><PropertyValue Property="Property" PropertyPath="Day"/><PropertyValue Property="AllowedExpressions" String="SingleRange"/></Record>
                <Record><PropertyValue Property="Property" PropertyPath="Note"/><PropertyValue Property="AllowedExpressions" String="SearchExpression"/></Record>
              </Collection></PropertyValue></Record></Annotation>
            </EntitySet>
          </EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
        """

    /// Why the request is refused, and the part of it that is; nil where it is planned.
    private func refusal(
        _ request: String, base: EntityQuery.Base = .all
    ) throws -> (message: String, part: String?)? {
        let tables = try ServiceTables(service: "shop", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        let text = request.split(separator: " ").joined(separator: "%20")
        let target = try RequestTarget(text)
        guard case .path(let segments) = target.resource, let set = segments.first?.name?.name else {
            throw QueryProblem("no set")
        }
        let query = EntityQuery(
            set, base: base, options: target.options, pageSize: 10, now: WireDate(secondsSince1970: 0))
        do {
            _ = try query.plan(in: tables)
            return nil
        } catch {
            #expect(error.kind == .invalid)
            let part = error.range.map { String(decoding: Array(text.utf8)[$0.start..<$0.end], as: UTF8.self) }
            return (error.message, part?.split(separator: "%20").joined(separator: " "))
        }
    }

    @Test(
        arguments: [
            ("Closed?$filter=ID eq 1", "Closed cannot be filtered.", "ID eq 1"),
            ("Closed?$orderby=ID", "Closed cannot be sorted.", "ID"),
            ("Closed?$search=x", "Closed cannot be searched.", "$search=x"),
            ("Closed?$count=true", "Closed cannot be counted.", nil),
            ("Orders?$filter=ID eq 1 or Note eq 'x'", "Orders cannot be filtered by Note.", "Note"),
            ("Orders?$filter=Place/City eq 'x'", "Orders cannot be filtered by Place/City.", "Place/City"),
            ("Orders?$orderby=ID,Note desc", "Orders cannot be sorted by Note.", "Note"),
            ("Free?$expand=Lines($filter=Note eq 'x')", "Orders cannot be filtered by Note.", "Note"),
            ("Chosen", "Chosen is read with $filter only.", nil),
            ("Daily", "The filter of Daily must look at Customer.", nil),
            ("Daily?$filter=Day eq 1", "The filter of Daily must look at Customer.", "Day eq 1"),
            ("Daily?$filter=Customer eq 'A'", "The filter of Daily must look at Day.", "Customer eq 'A'"),
        ] as [(String, String, String?)])
    func `what a set does not take is refused where it is asked for`(
        request: String, message: String, part: String?
    ) throws {
        let refusal = try #require(try refusal(request))
        #expect(refusal.message == message)
        #expect(refusal.part == part)
    }

    @Test(arguments: [
        "Closed", "Closed?$count=false&$top=1&$select=Note",
        "Free?$filter=Note eq 'x'&$orderby=Note&$search=x&$count=true",
        "Orders?$filter=NoteCount gt 1&$orderby=Place/City,NoteCount", "Orders?$orderby=ID&$filter=ID eq 1",
        "Free?$expand=Lines($filter=Day eq 1;$orderby=Day;$count=true)", "Chosen?$filter=ID gt 0",
        "Daily?$filter=Day eq 1 and Customer ne 'A'", "Narrow?$filter=ID gt 1",
    ])
    func `what a set takes is planned`(request: String) throws {
        let refusal = try refusal(request)
        #expect(refusal == nil)
    }

    @Test(
        arguments: [
            ("Orders?$compute=Note as N&$filter=N eq 'x'", "Orders cannot be filtered by Note."),
            ("Orders?$compute=length(Note) as N&$orderby=N", "Orders cannot be sorted by Note."),
            ("Orders?$apply=filter(Note eq 'x')", "Orders cannot be filtered by Note."),
            ("Orders?$apply=groupby((Customer,Note))/filter(Note eq 'x')", "Orders cannot be filtered by Note."),
            ("Orders?$apply=groupby((Customer),filter(Note eq 'x'))", "Orders cannot be filtered by Note."),
            ("Orders?$apply=aggregate(Note with max as N)/filter(N eq 'x')", "Orders cannot be filtered by Note."),
            ("Orders?$apply=compute(Note as N)&$filter=N eq 'x'", "Orders cannot be filtered by Note."),
            ("Orders?$apply=concat(identity,filter(Note eq 'x'))", "Orders cannot be filtered by Note."),
            ("Orders?$apply=orderby(Note)/top(1)", "Orders cannot be sorted by Note."),
            ("Orders?$apply=topcount(1,length(Note))", "Orders cannot be sorted by Note."),
            ("Closed?$apply=search(x)", "Closed cannot be searched."),
            ("Closed?$apply=filter(ID eq 1)", "Closed cannot be filtered."),
            ("Chosen?$apply=aggregate($count as N)", "Chosen is read with $filter only."),
            ("Daily?$apply=filter(Day eq 1)/aggregate($count as N)", "The filter of Daily must look at Customer."),
            ("Narrow?$apply=filter(Customer gt 'A')", "Narrow is filtered by Customer with one value only."),
        ])
    func `what a set does not take is refused under other names and within $apply`(request: String, message: String)
        throws
    {
        let refusal = try refusal(request)
        #expect(refusal?.message == message)
    }

    @Test(arguments: [
        "Orders?$compute=Note as N", "Orders?$apply=groupby((Note),aggregate($count as N))/filter(N gt 1)",
        "Chosen?$apply=filter(ID gt 1)/aggregate($count as N)", "Orders?$apply=filter(ID gt 1)/orderby(Customer)",
        "Daily?$apply=filter(Day eq 1)/filter(Customer eq 'A')/aggregate($count as N)",
    ])
    func `what a set takes is planned within $apply`(request: String) throws {
        let refusal = try refusal(request)
        #expect(refusal == nil)
    }

    @Test func `a filter in the path is one too`() throws {
        let note = try RequestTarget("Orders?$filter=Note%20eq%20'x'")
        guard case .filter(let filter)? = note.options.first?.form else { throw QueryProblem("no filter") }
        let tables = try ServiceTables(service: "shop", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        let query = EntityQuery(
            "Orders", base: .filtered(.all, filter), options: [], pageSize: 10, now: WireDate(secondsSince1970: 0))
        let problem = #expect(throws: QueryProblem.self) { try query.plan(in: tables) }
        #expect(problem?.message == "Orders cannot be filtered by Note.")
    }

    @Test func `a cross join holds to what each of its sets takes`() throws {
        let tables = try ServiceTables(service: "shop", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        func refusal(_ sets: [String], _ options: String) throws -> String? {
            let target = try RequestTarget("Free?\(options.split(separator: " ").joined(separator: "%20"))")
            let query = CrossJoinQuery(
                sets, options: target.options, pageSize: 10, now: WireDate(secondsSince1970: 0))
            do {
                if query.isApplied { _ = try query.applied(in: tables) } else { _ = try query.plan(in: tables) }
                return nil
            } catch { return error.message }
        }
        let refused = "Orders cannot be filtered by Note."
        #expect(try refusal(["Free", "Orders"], "$filter=Orders/Note eq 'x'") == refused)
        #expect(try refusal(["Free", "Orders"], "$filter=Free/Note eq 'x'") == nil)
        #expect(try refusal(["Free", "Orders"], "$orderby=Orders/Note") == "Orders cannot be sorted by Note.")
        #expect(try refusal(["Free", "Orders"], "$apply=filter(Orders/Note eq 'x')") == refused)
        #expect(try refusal(["Free", "Closed"], "$filter=Free/ID eq 1") == nil)
        #expect(try refusal(["Free", "Chosen"], "$filter=Free/ID eq 1") == "Chosen is read with $filter only.")
    }

    @Test func `one record needs no filter`() throws {
        for request in ["Chosen", "Daily"] {
            let refusal = try refusal(request, base: .record(RecordID(unchecked: "1")))
            #expect(refusal == nil)
        }
    }

    @Test(arguments: [
        "contains(Note,'x')", "not contains(Note,'x')", "Note in ('x')", "-length(Note) eq 1",
        "case(Note eq 'x':true,true:false)", "case(ID eq 1:Note eq 'x')", "cast(Note,Edm.Int32) eq 1",
        "isof(Note,Edm.String)", "Tags/any(t:t eq Note)", "Tags/all(t:t ne Note)", "$it/Note eq 'x'",
        "@a&@a=Note eq 'x'",
        "@a eq 'x'&@a=Note", "Lines/any(l:l/Customer eq $it/Note)", "ID eq 1 and (Day eq 2 or 'x' eq Note)",
        "Lines/any(l:l/Tags/any(t:t eq Note))",
    ])
    func `a property is found wherever a filter uses it`(filter: String) throws {
        let refusal = try refusal("Orders?$filter=\(filter)")
        #expect(refusal?.message == "Orders cannot be filtered by Note.")
    }

    @Test(arguments: [
        "Tags/any(Note:Note eq 'x')", "Tags/all(Note:Note ne 'x')", "$root/Free(1)/Note eq 'x'",
        "Lines/any(l:l/Note eq 'x')", "Customer eq 'Note'",
    ])
    func `names of variables, of other sets and in texts are no use of the property`(filter: String) throws {
        let refusal = try refusal("Orders?$filter=\(filter)")
        #expect(refusal == nil)
    }

    @Test(arguments: [
        "Customer eq 'A'", "'A' eq Customer", "Customer eq 'A' and ID gt 1", "Customer eq @c&@c='A'",
        "Kind eq 'a'", "Kind eq 'a' or Kind eq 'b' or 'c' eq Kind", "Kind in ('a','b')", "Kind in ('a') or Kind eq 'b'",
        "Day eq 3", "3 eq Day", "Day gt 1", "Day ge 1 and Day lt 5", "1 lt Day and Day le 5", "5 gt Day and 1 le Day",
        "contains(Note,'x') and Note ne 'y'",
        "Customer eq 'A' and Kind in ('a','b') and Day lt 9 and ID gt 1",
    ])
    func `one value, several or one range are taken where the model allows them`(filter: String) throws {
        let refusal = try refusal("Narrow?$filter=\(filter)")
        #expect(refusal == nil)
    }

    @Test(
        arguments: [
            (
                "one value", "Customer",
                [
                    "Customer ne 'A'", "Customer gt 'A'", "Customer eq 'A' and Customer eq 'B'",
                    "startswith(Customer,'A')",
                    "Customer eq 'A' or Customer eq 'B'", "Customer eq Customer", "Customer in ('A')",
                    "not (Customer eq 'A')", "concat(Customer,'x') eq 'Ax'", "Customer eq concat(Customer,'')",
                ]
            ),
            (
                "values", "Kind",
                [
                    "Kind eq 'a' and Kind eq 'b'", "Kind ne 'a'", "Kind eq 'a' or ID eq 1", "Kind in (Kind)",
                    "concat(Kind,'x') in ('a')", "Kind eq 'a' or Kind gt 'b'", "Kind eq Kind",
                ]
            ),
            (
                "one range", "Day",
                [
                    "Day ne 3", "Day gt 1 and Day gt 2", "1 lt Day and Day ge 2", "5 ge Day and Day lt 9",
                    "Day eq 3 and Day lt 9", "Day eq 3 and Day eq 4", "Day add 1 gt 2", "Day gt 1 or Day lt 0",
                    "Day gt Day", "Day gt 1 and Day lt 9 and Day lt 8", "Day in (1)",
                ]
            ),
        ])
    func `anything else that looks at such a property is refused`(
        kind: String, property: String, filters: [String]
    ) throws {
        for filter in filters {
            let refusal = try refusal("Narrow?$filter=\(filter)")
            #expect(refusal?.message == "Narrow is filtered by \(property) with \(kind) only.", "\(filter)")
        }
    }
}
