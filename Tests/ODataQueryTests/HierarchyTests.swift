import AdapterKit
import ODataEngine
import RecordStorage
import Testing

extension Trait where Self == SharedSchool {
    fileprivate static var largerSchool: Self {
        SharedSchool {
            let school = try await School()
            let more: [(Int64, String, Int64?)] = [
                (4, "West", 1), (5, "Far West", 4), (6, "Lone", nil), (7, "Lost", 99),
            ]
            _ = try await school.records.apply(
                more.map { id, name, parent in
                    RecordChange(
                        school.tables["Schools"]!.entity,
                        .create(
                            nil,
                            ["ID": .int64(id), "Name": .string(name), "Parent": parent.map { .int64($0) } ?? .null]))
                })
            return school
        }
    }
}

// Schools: 2 and 4 are below 1, 3 below 2, 5 below 4; 6 and 7 are roots too, what is above 7 is not there. Students 1 and 2
// are at school 1, student 3 is at school 2. Friends, each other's parents: 1→2, 1→3, 2→1.
@Suite(.largerSchool) struct HierarchyTests {
    private static let tree = "$root/Schools,Tree,ID"

    private func ids(_ request: String, pageSize: Int = 100) async throws -> [WireValue] {
        let school = try await School.current
        var (found, token): ([WireValue], String) = ([], "")
        repeat {
            let page = try await school.page(request + token, pageSize: pageSize)
            found += page.rows.map { $0.value("ID", page.shape) }
            token = page.next.map { "&$skiptoken=\($0)" } ?? ""
        } while !token.isEmpty
        return found
    }

    private func rows(_ request: String) async throws -> [[WireValue]] {
        let page = try await School.current.page(request)
        let visible = page.shape.columns.indices.filter { page.shape.columns[$0].isVisible }
        return page.rows.map { row in visible.map { row.values[$0] } }
    }

    @Test(
        arguments: [
            ("isroot(H,Node=ID)", [1, 6, 7]), ("isleaf(H,Node=ID)", [3, 5, 6, 7]),
            ("isnode(H,Node=ID)", [1, 2, 3, 4, 5, 6, 7]),
            ("isdescendant(H,Node=ID,Ancestor=1)", [2, 3, 4, 5]),
            ("isdescendant(H,Node=ID,Ancestor=1,IncludeSelf=true)", [1, 2, 3, 4, 5]),
            ("isdescendant(H,Node=ID,Ancestor=1,MaxDistance=1)", [2, 4]),
            ("isdescendant(H,Node=ID,Ancestor=Parent)", [2, 3, 4, 5]),
            ("isancestor(H,Node=ID,Descendant=5)", [1, 4]), ("isancestor(H,Node=ID,Descendant=5,MaxDistance=1)", [4]),
            ("issibling(H,Node=ID,Other=2)", [4]), ("issibling(H,Node=ID,Other=6)", [1, 7]),
            ("issibling(H,Node=ID,Other=3)", []), ("isdescendant(H,Node=Parent,Ancestor=1)", [3, 5]),
            ("isroot(H,Node=Parent)", [2, 4]), ("isnode(H,Node=Parent)", [2, 3, 4, 5]),
        ] as [(String, [Int64])])
    func `functions find nodes by where they are`(call: String, expected: [Int64]) async throws {
        let call = call.replacing("H,", with: "HierarchyNodes=$root/Schools,HierarchyQualifier='Tree',")
        for name in ["Aggregation", "Org.OData.Aggregation.V1"] {
            let found = try await ids("Schools?$filter=\(name).\(call)")
            #expect(found == expected.map { .int64($0) }, "\(call)")
        }
    }

    @Test func `a function of null is null, and others' nodes are found too`() async throws {
        let root = "Aggregation.isroot(HierarchyNodes=$root/Schools,HierarchyQualifier='Tree',Node=SchoolID)"
        #expect(try await ids("Students?$filter=\(root)") == [1, 2])
        #expect(try await ids("Students?$filter=not \(root)") == [3])
        #expect(try await ids("Students?$filter=\(root) eq null") == [4])
        let below =
            "Aggregation.isdescendant(HierarchyNodes=$root/Schools,HierarchyQualifier='Names',Node=School/Name,Ancestor='North')"
        #expect(try await ids("Students?$filter=\(below)") == [3])
    }

    @Test func `a part of a set is a hierarchy of its own`() async throws {
        let nodes = "HierarchyNodes=$root/Schools/$filter(ID ne 2),HierarchyQualifier='Tree'"
        #expect(try await ids("Schools?$filter=Aggregation.isroot(\(nodes),Node=ID)") == [1, 3, 6, 7])
        #expect(try await ids("Schools?$filter=Aggregation.isdescendant(\(nodes),Node=ID,Ancestor=1)") == [4, 5])
    }

    @Test(
        arguments: [
            ("ancestors(T,filter(ID eq 5))", [1, 4]), ("ancestors(T,filter(ID eq 5),keep start)", [1, 4, 5]),
            ("ancestors(T,filter(ID eq 5),1)", [4]), ("ancestors(T,filter(ID eq 5),1,keep start)", [4, 5]),
            ("descendants(T,filter(Name eq 'North'))", [2, 3, 4, 5]),
            ("descendants(T,filter(ID eq 4),keep start)", [4, 5]),
            ("descendants(T,filter(ID le 2))", [2, 3, 4, 5]), ("descendants(T,filter(ID le 2),1)", [2, 3, 4]),
            ("filter(ID ne 4)/descendants(T,filter(ID eq 1))", [2, 3, 5]),
            ("descendants(T,filter(ID eq 1),keep start)/ancestors(T,filter(ID eq 3),keep start)", [1, 2, 3]),
            ("top(3)/descendants(T,top(1))", [2, 3]), ("descendants(T,filter(ID eq 6))", []),
            ("concat(filter(ID lt 3),filter(ID eq 2))/descendants(T,filter(ID eq 1))", [2, 2]),
            ("descendants(T,descendants(T,filter(ID eq 1),1))", [3, 5]),
        ] as [(String, [Int64])])
    func `what is above and below others stays`(steps: String, expected: [Int64]) async throws {
        let steps = steps.replacing("T,", with: "\(Self.tree),")
        for pageSize in [100, 2] {
            #expect(
                try await ids("Schools?$apply=\(steps)&$orderby=ID", pageSize: pageSize) == expected.map { .int64($0) },
                "\(steps)")
        }
    }

    @Test func `circles come to an end`() async throws {
        let circle = "$root/Students,Circle,ID,filter(ID eq 3)"
        #expect(try await ids("Students?$apply=descendants(\(circle))&$orderby=ID") == [1, 2])
        #expect(try await ids("Students?$apply=descendants(\(circle),1000)&$orderby=ID") == [1, 2])
        #expect(
            try await ids("Students?$apply=ancestors($root/Students,Circle,ID,filter(ID eq 1),1)&$orderby=ID") == [
                2, 3,
            ])
    }

    @Test(
        arguments: [
            ("traverse(T,preorder)", [1, 2, 3, 4, 5, 6, 7]), ("traverse(T,postorder)", [3, 2, 5, 4, 1, 6, 7]),
            ("traverse(T,preorder,Name desc)", [1, 4, 5, 2, 3, 7, 6]),
            ("traverse(T,postorder,Name desc)", [5, 4, 3, 2, 1, 7, 6]),
            ("filter(ID gt 2)/traverse(T,postorder)", [3, 5, 4, 6, 7]), ("traverse(T,postorder)/top(3)", [3, 2, 5]),
            ("traverse(T,postorder)/skip(1)/top(3)/filter(ID ne 5)", [2, 4]),
            ("traverse(T,preorder,Name desc)/concat(identity,aggregate($count as N))/filter(ID eq 4)", [4]),
        ] as [(String, [Int64])])
    func `trees are gone through branch by branch`(steps: String, expected: [Int64]) async throws {
        let steps = steps.replacing("T,", with: "\(Self.tree),")
        for pageSize in [100, 2] {
            #expect(
                try await ids("Schools?$apply=\(steps)", pageSize: pageSize) == expected.map { .int64($0) }, "\(steps)")
        }
    }

    @Test func `what belongs to nodes comes in their order`() async throws {
        #expect(try await ids("Students?$apply=traverse($root/Schools,Tree,SchoolID,postorder)") == [3, 1, 2])
        #expect(try await ids("Students?$apply=descendants($root/Schools,Tree,School/ID,filter(ID eq 1))") == [3])
    }

    @Test(
        arguments: [
            (
                "Schools?$apply=groupby((rolluprecursive(T)),aggregate($count as N))&$select=ID,N&$orderby=ID",
                [[1, 5], [2, 2], [3, 1], [4, 2], [5, 1], [6, 1], [7, 1]]
            ),
            (
                "Students?$apply=groupby((rolluprecursive($root/Schools,Tree,SchoolID)),aggregate(ID with sum as S,$count as N))&$orderby=SchoolID",
                [
                    [1, 6, 3], [2, 3, 1], [3, .null, 0], [4, .null, 0], [5, .null, 0], [6, .null, 0], [7, .null, 0],
                ]
            ),
            (
                "Students?$apply=groupby((rolluprecursive($root/Schools,Tree,School/ID,filter(ID le 2))),aggregate($count as N))&$orderby=School/ID",
                [[1, "North", .null, 3], [2, "South", 1, 1]]
            ),
            (
                "Students?$apply=groupby((Active,rolluprecursive($root/Schools,Tree,SchoolID)),aggregate($count as N))&$orderby=SchoolID,Active",
                [[1, .null, 1], [1, false, 1], [1, true, 1], [2, .null, 1]]
            ),
            (
                "Schools?$apply=groupby((rolluprecursive(T,descendants(T,filter(ID eq 4),keep start))),aggregate($count as N)/compute(N sub 1 as Below)/filter(Below gt 0))&$select=ID,Below",
                [[4, 1]]
            ),
            (
                "Students?$apply=groupby((rolluprecursive($root/Schools,Tree,SchoolID)),topcount(1,ID)/aggregate(ID with max as Last))/filter(Last ne null)&$orderby=SchoolID",
                [[1, 3], [2, 3]]
            ),
            (
                "Students?$apply=groupby((rolluprecursive($root/Schools,Tree,SchoolID)))/aggregate($count as N)", [[7]]
            ),
        ] as [(String, [[WireValue]])])
    func `each node has what is below it`(request: String, expected: [[WireValue]]) async throws {
        #expect(try await rows(request.replacing("(T", with: "(\(Self.tree)")) == expected)
    }

    @Test(
        arguments: [
            ("filter(SchoolID eq Aggregation.rollupnode()/ID)/aggregate($count as N)", [2, 1, 0, 0, 0, 0, 0]),
            (
                "compute(case(School eq Aggregation.rollupnode(Position=1):ID) as Own)/aggregate(Own with sum as N)",
                [3, 3, .null, .null, .null, .null, .null]
            ),
            ("filter(Aggregation.rollupnode()/Name eq 'North')/aggregate($count as N)", [3, 0, 0, 0, 0, 0, 0]),
            (
                "filter(ID eq $these/aggregate(ID with max))/aggregate(ID with sum as N)",
                [3, 3, .null, .null, .null, .null, .null]
            ),
        ] as [(String, [WireValue])])
    func `a sequence knows for which node it is carried out`(steps: String, expected: [WireValue]) async throws {
        let request =
            "Students?$apply=groupby((rolluprecursive($root/Schools,Tree,SchoolID)),\(steps))&$orderby=SchoolID"
        #expect(try await rows(request).map { $0[1] } == expected)
    }

    @Test func `each owner has a hierarchy of its own rows`() async throws {
        let page = try await School.current.page(
            "Schools?$apply=addnested(Students,descendants($root/Students,Circle,ID,filter(ID le 2))/aggregate($count as N) as X)&$orderby=ID&$top=2"
        )
        let counts = try page.rows.map { row in
            let (found, shape) = try #require(row.expanded("X", page.shape))
            return found.rows.map { $0.value("N", shape) }
        }
        // Both students of school 1 are friends; student 3 of school 2 has begun nothing.
        #expect(counts == [[2], [0]])
    }

    @Test func `what is no hierarchy is refused`() async throws {
        let school = try await School.current
        for request in [
            "Schools?$apply=descendants($root/Schools,None,ID,filter(ID eq 1))",
            "Schools?$apply=descendants($root/Students,Tree,ID,filter(ID eq 1))",
            "Schools?$apply=descendants($root/Nothing,Tree,ID,filter(ID eq 1))",
            "Schools?$apply=descendants($root/Schools,Tree,Name,filter(ID eq 1))",
            "Schools?$apply=descendants($root/Schools,Tree,ID,filter(ID eq 1),0)",
            "Schools?$apply=descendants($root/Schools,Tree,ID,filter(ID eq 1),1001)",
            "Schools?$apply=traverse($root/Students,Circle,ID,preorder)",
            "Schools?$filter=Aggregation.rollupnode() eq null",
            "Schools?$filter=Aggregation.rollupnode(Position=0) eq null",
            "Schools?$apply=groupby((rolluprecursive($root/Schools,Tree,ID)),filter(ID eq Aggregation.rollupnode(Position=2)/ID)/aggregate($count as N))",
            "Schools?$apply=groupby((rolluprecursive($root/Schools,Tree,ID)),filter(ID eq Aggregation.rollupnode(Position=-9223372036854775808)/ID)/aggregate($count as N))",
            "Schools?$filter=Aggregation.isroot(HierarchyNodes=$root/Schools,HierarchyQualifier='Tree')",
            "Schools?$filter=Aggregation.isroot(HierarchyNodes=$root/Schools,HierarchyQualifier='Tree',Node='x')",
            "Schools?$filter=Aggregation.isdescendant(HierarchyNodes=$root/Schools,HierarchyQualifier='Tree',Node=ID)",
        ] {
            #expect(throws: QueryProblem.self, "\(request)") { try school.plan(request) }
        }
    }
}
