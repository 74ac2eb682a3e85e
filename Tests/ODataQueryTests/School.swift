import AdapterKit
import Foundation
import ODataEngine
import ODataLanguage
import ODataModel
import RecordStorage
import SQLiteStore

/// A small service over a store in a file, to ask OData's questions.
struct School {
    let tables: ServiceTables
    let records: AdapterRecords
    let store: SQLiteStore
    private let directory: Directory

    static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01">
        <edmx:Reference Uri="https://example.org/Org.OData.Aggregation.V1.xml">
          <edmx:Include Namespace="Org.OData.Aggregation.V1" Alias="Aggregation"/></edmx:Reference><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="S">
          <EnumType Name="Flags" IsFlags="true"><Member Name="None" Value="0"/><Member Name="Late" Value="1"/>
            <Member Name="Ill" Value="2"/></EnumType>
          <ComplexType Name="Address"><Property Name="City" Type="Edm.String"/><Property Name="Zip" Type="Edm.Int32"/></ComplexType>
          <EntityType Name="School"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Name" Type="Edm.String"/>
            <Property Name="Parent" Type="Edm.Int32"/>
            <NavigationProperty Name="Students" Type="Collection(S.Student)" Partner="School"/>
            <NavigationProperty Name="Above" Type="S.School"><ReferentialConstraint Property="Parent" ReferencedProperty="ID"/></NavigationProperty>
            <Annotation Term="Aggregation.RecursiveHierarchy" Qualifier="Tree"><Record>
              <PropertyValue Property="NodeProperty" PropertyPath="ID"/>
              <PropertyValue Property="ParentNavigationProperty" NavigationPropertyPath="Above"/></Record></Annotation>
            <Annotation Term="Aggregation.RecursiveHierarchy" Qualifier="Names"><Record>
              <PropertyValue Property="NodeProperty" PropertyPath="Name"/>
              <PropertyValue Property="ParentNavigationProperty" NavigationPropertyPath="Above"/></Record></Annotation>
          </EntityType>
          <EntityType Name="Student"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Name" Type="Edm.String"/>
            <Property Name="SchoolID" Type="Edm.Int32"/><Property Name="GPA" Type="Edm.Decimal" Scale="variable"/>
            <Property Name="Height" Type="Edm.Double"/><Property Name="Born" Type="Edm.Date"/>
            <Property Name="Seen" Type="Edm.DateTimeOffset"/><Property Name="Slept" Type="Edm.Duration"/>
            <Property Name="State" Type="S.Flags"/><Property Name="Home" Type="S.Address"/>
            <Property Name="Marks" Type="Collection(Edm.Int32)"/><Property Name="Active" Type="Edm.Boolean"/>
            <Property Name="Spot" Type="Edm.GeographyPoint"/>
            <NavigationProperty Name="School" Type="S.School" Partner="Students"><ReferentialConstraint Property="SchoolID" ReferencedProperty="ID"/></NavigationProperty>
            <NavigationProperty Name="Friends" Type="Collection(S.Student)"/>
            <NavigationProperty Name="Mates" Type="Collection(S.Student)"><ReferentialConstraint Property="SchoolID" ReferencedProperty="SchoolID"/></NavigationProperty>
            <Annotation Term="Aggregation.LeveledHierarchy" Qualifier="Places"><Collection>
              <PropertyPath>Active</PropertyPath><PropertyPath>SchoolID</PropertyPath></Collection></Annotation>
            <Annotation Term="Aggregation.RecursiveHierarchy" Qualifier="Circle"><Record>
              <PropertyValue Property="NodeProperty" PropertyPath="ID"/>
              <PropertyValue Property="ParentNavigationProperty" NavigationPropertyPath="Friends"/></Record></Annotation>
          </EntityType>
          <EntityType Name="Guest" BaseType="S.Student"><Property Name="Country" Type="Edm.String"/></EntityType>
          <EntityContainer Name="C"><EntitySet Name="Schools" EntityType="S.School"/><EntitySet Name="Students" EntityType="S.Student"/></EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """

    init() async throws {
        directory = try Directory()
        tables = try ServiceTables(service: "school", model: EntityDataModel(csdl: Array(Self.csdl.utf8)))
        let declaration = AdapterDeclaration(
            name: "odata", title: "OData", summary: "Schools.", version: "1",
            entities: tables.entities(searched: ["Students": ["Name"]]))
        store = try SQLiteStore(SQLiteStoreSettings(path: directory.path, clock: FixedClock()))
        try await store.install(declaration.entities.map { CollectionDeclaration(adapter: "odata", entity: $0) })
        records = AdapterRecords(store: store, declaration: declaration)
        try await fill()
    }

    private func fill() async throws {
        let (schools, students) = (tables["Schools"]!, tables["Students"]!)
        var changes = Self.schools.map { RecordChange(schools.entity, .create(nil, $0)) }
        changes += Self.students.map { RecordChange(students.entity, .create(nil, $0)) }
        let links = tables.links[0]
        for (from, to) in [(1, 2), (1, 3), (2, 1)] {
            let pair = LinkTable.pair(RecordID(unchecked: "\(from)"), RecordID(unchecked: "\(to)"))
            changes.append(
                RecordChange(
                    links.entity,
                    .create(nil, ["pair": .string(pair), "fromKey": .int64(Int64(from)), "toKey": .int64(Int64(to))])))
        }
        _ = try await records.apply(changes)
    }

    /// The page that a request for a set answers.
    func page(_ request: String, pageSize: Int = 100) async throws -> ResultPage {
        let plan = try plan(request, pageSize: pageSize)
        return try await records.withReadSnapshot { try plan.page(at: $0) }
    }

    /// `limit`: entities that one expanded level brings at a time.
    func plan(_ request: String, pageSize: Int = 100, limit: Int? = nil) throws -> QueryPlan {
        var limits = QueryLimits.standard
        if let limit { limits.expandedRows = limit }
        return try query(request, pageSize: pageSize).plan(in: tables, limits: limits)
    }

    /// What the rows are given in.
    func parts(_ plan: QueryPlan) async throws -> [[ResultRow]] {
        try await records.withReadSnapshot { snapshot in
            var parts: [[ResultRow]] = []
            _ = try plan.rows(at: snapshot) { parts.append($0) }
            return parts
        }
    }

    /// Nil where changes of the result cannot be followed.
    func tracked(_ request: String, limits: QueryLimits = .standard) throws -> TrackedQuery? {
        let query = try query(request)
        return try TrackedQuery(query, plan: query.plan(in: tables), in: tables, limits: limits)
    }

    private func query(_ request: String, pageSize: Int = 100) throws -> EntityQuery {
        let target = try RequestTarget(Self.encoded(request))
        guard case .path(let segments) = target.resource, let set = segments.first?.name?.name else {
            throw QueryProblem("no set")
        }
        return EntityQuery(set, options: target.options, pageSize: pageSize, now: FixedClock().now())
    }

    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"+^{}\"<>|\\`[]".utf8.contains(byte)
            return isPlain ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// One column of the rows.
    func column(_ name: String, _ request: String, pageSize: Int = 100) async throws -> [WireValue] {
        let page = try await page(request, pageSize: pageSize)
        return page.rows.map { $0.value(name, page.shape) }
    }

    /// The ids of the students for which the filter is true.
    func students(_ filter: String) async throws -> [WireValue] {
        try await column("ID", "Students?$filter=\(filter)")
    }

    static let schools: [WireDictionary] = [
        ["ID": 1, "Name": "North", "Parent": .null], ["ID": 2, "Name": "South", "Parent": 1],
        ["ID": 3, "Name": .null, "Parent": 2],
    ]

    static let students: [WireDictionary] = [
        [
            "ID": 1, "Name": "Ann", "SchoolID": 1, "GPA": decimal("3.10"), "Height": 1.5, "Born": "2000-02-29",
            "Seen": .date(WireDate(rfc3339: "2024-01-15T10:30:00.5Z")!), "Slept": 3600, "State": 3,
            "Home": ["City": "Oxford", "Zip": 7], "Marks": [1, 2, 2], "Active": true, "type__": "S.Student",
            "Spot": ["type": "Point", "coordinates": [1.0, 2.0]],
        ],
        [
            "ID": 2, "Name": "Bob", "SchoolID": 1, "GPA": decimal("3.1"), "Height": 1.75, "Born": "1999-12-31",
            "Seen": .null, "Slept": .null, "State": 0, "Home": ["City": .null, "Zip": 1], "Marks": [], "Active": false,
            "type__": "S.Student",
            "Spot": [
                "type": "Point", "coordinates": [1.0, 2.0],
                "crs": ["type": "name", "properties": ["name": "EPSG:12345"]],
            ],
        ],
        [
            "ID": 3, "Name": .null, "SchoolID": 2, "GPA": .null, "Height": .null, "Born": .null, "State": 2,
            "Home": .null, "Marks": [5], "Active": .null, "type__": "S.Guest", "Country": "Fiji",
        ],
        [
            "ID": 4, "Name": "O'Neil ä", "SchoolID": .null, "GPA": decimal("12345678901234567890.123"), "Height": 0,
            "State": .null, "Marks": .null, "Active": true, "type__": "S.Student",
        ],
    ]

    private static func decimal(_ text: String) -> WireValue { .decimal(WireDecimal(text)!) }
}

extension ResultRow {
    func value(_ name: String, _ shape: ResultShape) -> WireValue {
        shape.columns.firstIndex { $0.name == name }.map { values[$0] } ?? .string("no such column")
    }

    func expanded(_ name: String, _ shape: ResultShape) -> (rows: ExpandedRows, shape: ResultShape)? {
        shape.expansions.firstIndex { $0.property == name }.map { (expanded[$0], shape.expansions[$0].shape) }
    }
}

final class Directory: Sendable {
    private let url: URL
    var path: String { url.appending(path: "store.sqlite").path }

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "school-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
