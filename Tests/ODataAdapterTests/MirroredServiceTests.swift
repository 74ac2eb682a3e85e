import AdapterKit
import AdapterTesting
import Foundation
import ODataAdapter
import Synchronization
import Testing

/// A service whose entities another system has: what is asked of it, and what is made of its answers.
@Suite struct ODataMirroredServiceTests {
    /// Of SAP's: an association without a constraint, a day and an instant.
    private static let version2 = """
        <edmx:Edmx Version="1.0" xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx"><edmx:DataServices
        m:DataServiceVersion="2.0" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
        <Schema Namespace="HR" xmlns="http://schemas.microsoft.com/ado/2008/09/edm">
          <EntityType Name="Person"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Name" Type="Edm.String" MaxLength="10"/>
            <Property Name="Salary" Type="Edm.Decimal" Precision="20" Scale="4"/>
            <Property Name="Born" Type="Edm.DateTime" Precision="0"/>
            <Property Name="Changed" Type="Edm.DateTimeOffset"/>
            <NavigationProperty Name="Skills" Relationship="HR.PersonSkills" FromRole="P" ToRole="S"/></EntityType>
          <EntityType Name="Skill"><Key><PropertyRef Name="Code"/><PropertyRef Name="Level"/></Key>
            <Property Name="Code" Type="Edm.String" Nullable="false" MaxLength="4"/>
            <Property Name="Level" Type="Edm.Int32" Nullable="false"/></EntityType>
          <Association Name="PersonSkills"><End Type="HR.Person" Multiplicity="*" Role="P"/>
            <End Type="HR.Skill" Multiplicity="*" Role="S"/></Association>
          <EntityContainer Name="C" m:IsDefaultEntityContainer="true">
            <EntitySet Name="People" EntityType="HR.Person"/><EntitySet Name="Skills" EntityType="HR.Skill"/>
            <AssociationSet Name="PS" Association="HR.PersonSkills"><End EntitySet="People" Role="P"/>
              <End EntitySet="Skills" Role="S"/></AssociationSet>
          </EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """
    private static let version4 = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="HR">
          <ComplexType Name="Address"><Property Name="Street" Type="Edm.String"/></ComplexType>
          <EntityType Name="Person"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Name" Type="Edm.String" MaxLength="10"/>
            <Property Name="Salary" Type="Edm.Decimal" Scale="4" Precision="20"/>
            <Property Name="Home" Type="HR.Address"/><Property Name="Phones" Type="Collection(Edm.String)"/>
            <Property Name="Changed" Type="Edm.DateTimeOffset" Precision="3"/></EntityType>
          <EntityType Name="Manager" BaseType="HR.Person"><Property Name="Budget" Type="Edm.Int64"/></EntityType>
          <EntityContainer Name="C"><EntitySet Name="People" EntityType="HR.Person"/></EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """

    private static let root = "https://upstream.example/odata/"

    /// The targets that were asked for, in order.
    private final class Script: Sendable {
        let asked = Mutex<[UpstreamRequest]>([])
        var targets: [String] { asked.withLock { $0.map(\.address.target) } }
    }

    private struct Answers: Sendable {
        let to: @Sendable (String) -> (status: Int, type: String, body: String)

        init(_ to: @escaping @Sendable (String) -> (status: Int, type: String, body: String)) { self.to = to }
    }

    private func withHost(
        _ model: String, _ settings: WireDictionary = [:], script: Script = Script(),
        _ answers: Answers, _ body: (TestHost) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-odata-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try model.write(to: folder.appendingPathComponent("model.xml"), atomically: true, encoding: .utf8)
        let upstream = ScriptedUpstream(url: UpstreamAddress("https://upstream.example/")!) {
            request, _ throws(UpstreamFailure) in
            script.asked.withLock { $0.append(request) }
            let made = answers.to(request.address.target)
            return UpstreamResponse(
                address: request.address, status: made.status, fields: ["Content-Type": made.type],
                body: Array(made.body.utf8))
        }
        var service: WireDictionary = ["model": "model.xml", "upstream": "upstream", "path": "odata/"]
        for entry in settings { service[entry.key] = entry.value }
        let host = try await TestHost(
            ODataModule.self,
            AdapterConfiguration(["services": ["hr": .dictionary(service)]], directory: folder.path),
            upstream: upstream)
        try await body(host)
    }

    private static func json(_ body: String) -> (status: Int, type: String, body: String) {
        (200, "application/json;charset=utf-8", body)
    }

    /// All pages of a refresh.
    private func refresh(
        _ host: TestHost, _ entity: EntityName = "hr-People", since: String? = nil
    ) async throws -> (rows: [WireDictionary], removed: [RecordID], cursor: String?) {
        var (rows, removed): ([WireDictionary], [RecordID]) = ([], [])
        var request = MirrorRequest(entity, since: since)
        while true {
            let page = try await host.adapter.readMirror(request)
            rows += page.rows
            removed += page.removed
            guard let next = page.next else { return (rows, removed, page.cursor) }
            request = MirrorRequest(entity, page: next, since: since)
        }
    }

    @Test func `pages of version 2 follow next links, and values are exact`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                target.contains("skiptoken")
                    ? Self.json(#"{"d":{"results":[{"ID":2,"Name":null,"Salary":null,"Born":null,"Changed":null}]}}"#)
                    : Self.json(
                        #"""
                        {"d":{"results":[{"__metadata":{"uri":"x"},"ID":1,"Name":"Ann","Salary":"12345678901234567.8901",
                        "Born":"/Date(951782400000)/","Changed":"/Date(1705314600123+0060)/",
                        "Skills":{"__deferred":{"uri":"x"}}}],"__next":"\#(Self.root)People?$skiptoken='a b'"}}
                        """#)
            }
        ) { host in
            let found = try await refresh(host)
            #expect(found.rows.count == 2 && found.removed.isEmpty && found.cursor == nil)
            #expect(found.rows.first?["Salary"] == .decimal(WireDecimal("12345678901234567.8901")!))
            #expect(found.rows.first?["Born"] == .date(WireDate(rfc3339: "2000-02-29T00:00:00Z")!))
            #expect(found.rows.first?["Changed"] == .date(WireDate(rfc3339: "2024-01-15T10:30:00.123Z")!))
            #expect(found.rows.last?["Name"] == .null)
        }
        #expect(
            script.targets == [
                "/odata/People?$select=ID,Name,Salary,Born,Changed&$inlinecount=allpages",
                "/odata/People?$skiptoken='a%20b'",
            ])
        #expect(script.asked.withLock { $0.allSatisfy { $0.fields["Accept"] == "application/json" } })
    }

    @Test(arguments: [
        "https://elsewhere.example/odata/People?p=2", "//elsewhere.example/odata/People", "/other/People",
        "../People", "http://upstream.example/odata/People", "%2e%2e/People", "%2E./People", ".%2e/People",
        "..;/People", "..%2fPeople", "https://upstream.example/odata/..",
        "https://upstream.example/odata/x/.%2E/People",
    ])
    func `a next link out of the service is not followed`(link: String) async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script, Answers { _ in Self.json(#"{"d":{"results":[],"__next":"\#(link)"}}"#) }
        ) { host in
            await #expect(throws: MirrorRefusal.self) { try await refresh(host) }
        }
        #expect(script.targets.count == 1)
    }

    @Test func `a service that leaves rows out and has no links is read by key`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                if target.contains("inlinecount") {
                    return Self.json(#"{"d":{"results":[{"Code":"A","Level":1}],"__count":"3"}}"#)
                }
                if target.contains("eq%20'B'") || target.contains("eq 'B'") {
                    return Self.json(#"{"d":{"results":[]}}"#)
                }
                return Self.json(
                    target.contains("filter")
                        ? #"{"d":{"results":[{"Code":"B","Level":7}]}}"#
                        : #"{"d":{"results":[{"Code":"A","Level":1},{"Code":"A'","Level":2}]}}"#)
            }
        ) { host in
            let found = try await refresh(host, "hr-Skills")
            #expect(found.rows.map { $0["Code"]?.stringValue } == ["A", "A'", "B"])
            #expect(found.rows.map { $0["key__"]?.stringValue } == ["A,1", "A',2", "B,7"])
        }
        #expect(
            script.targets.dropFirst(2).first
                == "/odata/Skills?$orderby=Code%20asc,Level%20asc&$top=5000&$filter="
                + "Code%20gt%20'A'''%20or%20(Code%20eq%20'A'''%20and%20Level%20gt%202)&$select=Code,Level")
    }

    @Test func `options that a service refuses are left out`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                target.contains("select")
                    ? (400, "application/json", "{}") : Self.json(#"{"d":[{"ID":1},{"ID":2}]}"#)
            }
        ) { host in
            for _ in 1...2 {
                let found = try await refresh(host)
                #expect(found.rows.count == 2)
            }
        }
        #expect(script.targets.count == 4)
    }

    @Test func `a service that fails for a while is asked with all options again`() async throws {
        let script = Script()
        let isFailing = Mutex(true)
        try await withHost(
            Self.version2, script: script,
            Answers { _ in
                isFailing.withLock { $0 }
                    ? (400, "application/json", "{}") : Self.json(#"{"d":{"results":[{"ID":1}]}}"#)
            }
        ) { host in
            await #expect(throws: PorticoError.self) { try await refresh(host) }
            isFailing.withLock { $0 = false }
            _ = try await refresh(host)
        }
        #expect(script.targets.count == 4 && script.targets.last?.contains("inlinecount") == true)
    }

    @Test func `a delta token of SAP's brings what changed and what is gone in one request`() async throws {
        let script = Script()
        let delta = "People?!deltatoken='7'"
        let feed = """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
             xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
            <link rel="delta" href="People?!deltatoken='8'"/>
            <entry><content type="application/xml"><m:properties><d:ID>2</d:ID><d:Name>Ben</d:Name>
            </m:properties></content></entry>
            <at:deleted-entry xmlns:at="http://purl.org/atompub/tombstones/1.0" ref="\(Self.root)People(1)" when="x"/></feed>
            """
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                if target.contains("deltatoken='8'") { return (410, "application/json", "{}") }
                return target.contains("deltatoken")
                    ? (200, "application/atom+xml;type=feed", feed)
                    : Self.json(#"{"d":{"results":[{"ID":1},{"ID":2}],"__delta":"\#(delta)"}}"#)
            }
        ) { host in
            let whole = try await refresh(host)
            try await host.records.load([SampleRecords("hr-People", [["ID": 2, "Name": "Bob", "Salary": 5]])])
            let changes = try await refresh(host, since: whole.cursor)
            #expect(changes.removed == ["1"])
            #expect(changes.rows.map { $0["Name"] } == ["Ben"])
            // What a change does not say is as it was.
            #expect(changes.rows.map { $0["Salary"]?.decimalValue?.description } == ["5"])
            let failure = await #expect(throws: PorticoError.self) {
                try await refresh(host, since: changes.cursor)
            }
            #expect(failure?.code == .fetchAgain)
        }
        #expect(script.targets.count == 3)
        #expect(
            script.asked.withLock { $0.dropFirst().first?.fields["Accept"]?.hasPrefix("application/atom+xml") } == true)
    }

    @Test func `what changed is asked by its property, and every row once a day`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, ["sets": ["People": ["changes": "Changed"]]], script: script,
            Answers { target in
                target.contains("gt") || target.contains("filter") && target.contains("ID")
                    ? Self.json(#"{"d":{"results":[]}}"#)
                    : Self.json(
                        #"{"d":{"results":[{"ID":1,"Changed":"/Date(1705314600123)/"},{"ID":2,"Changed":null}]}}"#)
            }
        ) { host in
            let whole = try await refresh(host)
            let changes = try await refresh(host, since: whole.cursor)
            #expect(
                script.targets.dropFirst().first?.contains(
                    "$filter=Changed%20ge%20datetimeoffset'2024-01-15T10:30:00.123Z'") == true, "\(script.targets)")
            host.clock.advance(seconds: 90_000)
            let failure = await #expect(throws: PorticoError.self) { try await refresh(host, since: changes.cursor) }
            #expect(failure?.code == .fetchAgain)
        }
    }

    @Test func `entities of version 4 have derived types, complex values and collections`() async throws {
        let script = Script()
        try await withHost(
            Self.version4, script: script,
            Answers { _ in
                Self.json(
                    #"""
                    {"@odata.context":"$metadata#People","value":[{"ID":1,"Name":"Ann","Salary":"1.5000",
                    "Home":{"Street":"Elm"},"Phones":["1","2"],"Changed":"2024-01-15T11:30:00+01:00"},
                    {"@odata.type":"#HR.Manager","ID":2,"Budget":"9007199254740993","Name":"A name that is too long",
                    "Nickname":"x"}],"@odata.deltaLink":"People?$deltatoken=1"}
                    """#)
            }
        ) { host in
            let rows = try await refresh(host).rows
            #expect(rows.first?["Home"] == ["Street": "Elm"])
            #expect(rows.first?["Phones"] == ["1", "2"])
            #expect(rows.first?["Changed"] == .date(WireDate(rfc3339: "2024-01-15T10:30:00Z")!))
            #expect(rows.first?["type__"] == "HR.Person" && rows.last?["type__"] == "HR.Manager")
            #expect(rows.last?["Budget"] == .int64(9_007_199_254_740_993))
            // Neither fits: the mirror reports it.
            #expect(rows.last?["Name"]?.stringValue == nil && rows.last?["Nickname"] != nil)
        }
        #expect(script.targets == ["/odata/People?$count=true"])
        let prefer = script.asked.withLock { $0.first?.fields["Prefer"] }
        #expect(prefer == "odata.maxpagesize=5000,odata.track-changes")
    }

    @Test(arguments: [
        #"{"@odata.context":"$metadata#People/$deletedEntity","id":"People(1)","reason":"deleted"}"#,
        #"{"@removed":{"reason":"deleted"},"@id":"https://upstream.example/odata/People(1)"}"#,
    ])
    func `a delta link of version 4 tells what is gone`(tombstone: String) async throws {
        try await withHost(
            Self.version4, script: Script(),
            Answers { target in
                let items = target.contains("deltatoken=1") ? #"{"ID":3,"Name":"Cy"},\#(tombstone)"# : #"{"ID":1}"#
                return Self.json(
                    #"{"value":[\#(items)],"@odata.deltaLink":"People?$deltatoken=\#(target.contains("=1") ? 2 : 1)"}"#)
            }
        ) { host in
            let whole = try await refresh(host)
            let changes = try await refresh(host, since: whole.cursor)
            #expect(changes.removed == ["1"] && changes.rows.map { $0["ID"] } == [3])
        }
    }

    @Test func `links without a constraint are read with the keys`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                target.contains("skiptoken")
                    ? Self.json(#"{"d":{"results":[{"Code":"C","Level":3}]}}"#)
                    : Self.json(
                        #"""
                        {"d":{"results":[{"ID":1,"Skills":{"results":[{"Code":"A","Level":1}],
                        "__next":"People(1)/Skills?$skiptoken=1"}},{"ID":2,"Skills":{"results":[]}}]}}
                        """#)
            }
        ) { host in
            let pairs = try await refresh(host, "hr-People-Skills").rows
            #expect(pairs.map { $0["toKey"]?.stringValue } == ["A,1", "C,3"])
            #expect(pairs.map { $0["fromKey"] } == [1, 1])
        }
        #expect(
            script.targets.first
                == "/odata/People?$select=ID,Skills/Code,Skills/Level&$expand=Skills&$inlinecount=allpages")
    }

    @Test func `links of entities that a service leaves out of its answer are read by key`() async throws {
        let script = Script()
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                func person(_ id: Int) -> String {
                    #"{"ID":\#(id),"Skills":{"results":[{"Code":"A","Level":\#(id)}]}}"#
                }
                if target.contains("inlinecount") {
                    return Self.json(#"{"d":{"results":[\#(person(1))],"__count":"2"}}"#)
                }
                if target.contains("ID%20gt%202") { return Self.json(#"{"d":{"results":[]}}"#) }
                return Self.json(#"{"d":{"results":[\#(person(1)),\#(person(2))]}}"#)
            }
        ) { host in
            let pairs = try await refresh(host, "hr-People-Skills").rows
            #expect(pairs.map { $0["fromKey"] } == [1, 2])
        }
        #expect(script.targets.count == 3)
    }

    @Test func `links that a service leaves out of an expansion are read by key`() async throws {
        let script = Script()
        @Sendable func skills(_ levels: ClosedRange<Int>) -> String {
            levels.map { #"{"Code":"A","Level":\#($0)}"# }.joined(separator: ",")
        }
        try await withHost(
            Self.version2, script: script,
            Answers { target in
                if target.contains("$count") { return (200, "text/plain", target.contains("(1)") ? "120" : "100") }
                if target.contains("(1)/Skills") {
                    return Self.json(
                        #"{"d":{"results":[\#(target.contains("filter") ? "" : skills(1...120))]}}"#)
                }
                return Self.json(
                    #"""
                    {"d":{"results":[{"ID":1,"Skills":{"results":[\#(skills(1...100))]}},{"ID":2,"Skills":{"results":
                    [\#(skills(1...100))]}},{"ID":3,"Skills":{"results":[\#(skills(1...3))]}}]}}
                    """#)
            }
        ) { host in
            let pairs = try await refresh(host, "hr-People-Skills").rows
            #expect([1, 2, 3].map { id in pairs.count { $0["fromKey"] == .int64(id) } } == [120, 100, 3])
        }
        #expect(
            script.targets.dropFirst() == [
                "/odata/People(1)/Skills/$count",
                "/odata/People(1)/Skills?$orderby=Code%20asc,Level%20asc&$top=1000&$select=Code,Level",
                "/odata/People(1)/Skills?$orderby=Code%20asc,Level%20asc&$top=1000&$filter="
                    + "Code%20gt%20'A'%20or%20(Code%20eq%20'A'%20and%20Level%20gt%20120)&$select=Code,Level",
                "/odata/People(2)/Skills/$count",
            ])
    }

    @Test func `links of derived types and of singletons are read`() async throws {
        let model = Self.version4
            .replacingOccurrences(
                of: "<Property Name=\"Budget\" Type=\"Edm.Int64\"/>",
                with: "<NavigationProperty Name=\"Team\" Type=\"Collection(HR.Person)\"/>"
            )
            .replacingOccurrences(
                of: "<EntitySet Name=\"People\" EntityType=\"HR.Person\"/>",
                with: """
                    <EntitySet Name="People" EntityType="HR.Person">
                    <NavigationPropertyBinding Path="HR.Manager/Team" Target="People"/></EntitySet>
                    <Singleton Name="Head" Type="HR.Manager">
                    <NavigationPropertyBinding Path="Team" Target="People"/></Singleton>
                    """)
        let script = Script()
        try await withHost(
            model, script: script,
            Answers { target in
                target.contains("Head")
                    ? Self.json(#"{"ID":7,"Team":[{"ID":2}]}"#)
                    : Self.json(
                        ##"{"value":[{"ID":1},{"@odata.type":"#HR.Manager","ID":2,"Team":[{"ID":1},{"ID":2}]}]}"##)
            }
        ) { host in
            let team = try await refresh(host, "hr-People-Team").rows
            #expect(team.map { $0["fromKey"] } == [2, 2] && team.map { $0["toKey"] } == [1, 2])
            let head = try await refresh(host, "hr-Head-Team").rows
            #expect(head.map { $0["fromKey"] } == ["Head"] && head.map { $0["toKey"] } == [2])
        }
        #expect(
            script.targets == [
                "/odata/People?$select=ID&$expand=HR.Manager/Team($select%3DID)&$count=true",
                "/odata/Head?$select=ID&$expand=Team($select%3DID)",
            ])
    }

    @Test func `a failed refresh names what the system says`() async throws {
        try await withHost(
            Self.version2, script: Script(),
            Answers { _ in (500, "application/json", #"{"error":{"code":"HR/500","message":{"value":"No dump"}}}"#) }
        ) { host in
            for entity: EntityName in ["hr-People", "hr-People-Skills"] {
                let failure = await #expect(throws: PorticoError.self) { try await refresh(host, entity) }
                #expect(failure?.logDetail?.hasSuffix("answered 500; it says: HR/500: No dump") == true)
            }
        }
    }

    @Test func `every set conforms as a mirror`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-odata-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("model.xml")
        try Self.version4.write(to: file, atomically: true, encoding: .utf8)
        let conformance = MirrorConformance(
            ODataModule.self, "hr-People",
            configuration: ["services": ["hr": ["model": .string(file.path), "upstream": "upstream"]]]
        ) { request, _ in
            let body = #"{"value":[{"ID":1,"Name":"Ann"},{"ID":2,"Name":"Ben"}]}"#
            return UpstreamResponse(
                address: request.address, status: 200, fields: ["Content-Type": "application/json"],
                body: Array(body.utf8))
        }
        #expect(await conformance.problems() == [])
    }

    // MARK: Changes

    private static let writing: WireDictionary = ["write": "through", "access": ["read": "public", "write": "public"]]

    /// A gateway of SAP's with one person, which takes one token at a time.
    private final class Gateway: Sendable {
        let token = Mutex("t1")
        let asked = Mutex<[UpstreamRequest]>([])
        let refusal: String?

        init(refusal: String? = nil) { self.refusal = refusal }

        func answer(_ request: UpstreamRequest) -> UpstreamResponse {
            asked.withLock { $0.append(request) }
            var fields: UpstreamHeaders = ["Content-Type": "application/json"]
            func made(_ status: Int, _ body: String = "") -> UpstreamResponse {
                UpstreamResponse(address: request.address, status: status, fields: fields, body: Array(body.utf8))
            }
            let token = token.withLock { $0 }
            let person = #"{"d":{"__metadata":{"etag":"W/\"7\""},"ID":1,"Name":"Ann","Salary":"1.5"}}"#
            guard request.method != .get else {
                guard request.fields["X-CSRF-Token"] == "Fetch" else { return made(200, person) }
                fields = UpstreamHeaders([
                    ("Content-Type", "application/json"), ("X-CSRF-Token", token),
                    ("Set-Cookie", "SAP_SESSIONID=\(token); Path=/; HttpOnly"), ("Set-Cookie", "usercontext=c; Path=/"),
                ])
                return made(200, "{}")
            }
            let isKnown =
                request.fields["X-CSRF-Token"] == token
                && request.fields["Cookie"] == "SAP_SESSIONID=\(token); usercontext=c"
            guard isKnown else {
                fields["X-CSRF-Token"] = "Required"
                return made(403, "CSRF token validation failed")
            }
            if let refusal { return made(400, refusal) }
            if request.method == .post, request.fields["X-HTTP-Method"] == nil {
                return made(201, #"{"d":{"ID":77,"Name":"New","Salary":null,"Born":null,"Changed":null}}"#)
            }
            return made(204)
        }
    }

    private func withGateway(
        _ gateway: Gateway, _ model: String = version2, _ body: (TestHost) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-odata-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try model.write(to: folder.appendingPathComponent("model.xml"), atomically: true, encoding: .utf8)
        let upstream = ScriptedUpstream(url: UpstreamAddress("https://upstream.example/")!) {
            request, _ throws(UpstreamFailure) in gateway.answer(request)
        }
        var service = Self.writing
        service["model"] = "model.xml"
        service["upstream"] = "upstream"
        service["path"] = "odata/"
        let configuration = AdapterConfiguration(["services": ["hr": .dictionary(service)]], directory: folder.path)
        try await body(try await TestHost(ODataModule.self, configuration, upstream: upstream))
    }

    private func change(_ operation: MirrorChange.Kind, _ id: RecordID, _ fields: WireDictionary = [:]) -> MirrorChange
    {
        MirrorChange(
            "hr-People", id, operation, fields: fields, before: operation == .create ? nil : ["ID": 1],
            idempotencyKey: "k", mayRepeat: false)
    }

    @Test func `changes carry one token with its cookies until the system asks for another`() async throws {
        let gateway = Gateway()
        try await withGateway(gateway) { host in
            let fields: WireDictionary = ["Name": "Eve", "Salary": .decimal(WireDecimal("2.25")!), "Born": .null]
            let merged = try await host.adapter.writeMirror(change(.update, "1", fields))
            #expect(merged == .stored(nil))
            let removed = try await host.adapter.writeMirror(change(.delete, "1"))
            #expect(removed == .stored(nil))
            gateway.token.withLock { $0 = "t2" }
            let again = try await host.adapter.writeMirror(change(.update, "1", fields))
            #expect(again == .stored(nil))
        }
        let asked = gateway.asked.withLock { $0 }
        #expect(asked.count { $0.fields["X-CSRF-Token"] == "Fetch" } == 2)
        let merges = asked.filter { $0.fields["X-HTTP-Method"] == "MERGE" }
        #expect(merges.count == 3 && merges.allSatisfy { $0.method == .post && $0.fields["If-Match"] == "W/\"7\"" })
        #expect(
            merges.first.map { String(decoding: $0.body, as: UTF8.self) }
                == #"{"Name":"Eve","Salary":"2.25","Born":null}"#)
        #expect(asked.count { $0.method == .delete && $0.fields["If-Match"] == "W/\"7\"" } == 1)
    }

    @Test func `a token that is too long for one is refused`() async throws {
        let gateway = Gateway()
        gateway.token.withLock { $0 = String(repeating: "t", count: 5_000) }
        try await withGateway(gateway) { host in
            await #expect(throws: PorticoError.self) {
                try await host.adapter.writeMirror(change(.update, "1", ["Name": "Eve"]))
            }
        }
        #expect(gateway.asked.withLock { $0.allSatisfy { $0.method == .get } })
    }

    @Test func `a service of version 3 is sent verbose JSON`() async throws {
        let gateway = Gateway()
        try await withGateway(
            gateway, Self.version2.replacingOccurrences(of: "ServiceVersion=\"2.0\"", with: "ServiceVersion=\"3.0\"")
        ) { host in _ = try await host.adapter.writeMirror(change(.update, "1", ["Name": "Eve"])) }
        let sent = gateway.asked.withLock { $0.last }
        #expect(sent?.method == .patch && sent?.fields["Content-Type"] == "application/json;odata=verbose")
    }

    @Test func `a value of a derived complex type names its type`() async throws {
        let script = Script()
        let model = Self.version4.replacingOccurrences(
            of: "<EntityType Name=\"Person\">",
            with: """
                <ComplexType Name="Abroad" BaseType="HR.Address"><Property Name="Country" Type="Edm.String"/></ComplexType>
                <EntityType Name="Person">
                """)
        try await withHost(model, Self.writing, script: script, Answers { _ in Self.json(#"{"ID":1}"#) }) { host in
            let home: WireValue = ["@type": "HR.Abroad", "Street": "Elm", "Country": "FR"]
            _ = try await host.adapter.writeMirror(change(.update, "1", ["Home": home]))
            _ = try await host.adapter.writeMirror(change(.update, "1", ["Home": ["Street": "Oak"]]))
        }
        let bodies = script.asked.withLock { asked in
            asked.filter { $0.method == .patch }.map { String(decoding: $0.body, as: UTF8.self) }
        }
        #expect(
            bodies == [
                ##"{"Home":{"Street":"Elm","Country":"FR","@odata.type":"#HR.Abroad"}}"##,
                #"{"Home":{"Street":"Oak"}}"#,
            ])
    }

    @Test func `what is created takes the key of the system`() async throws {
        try await withGateway(Gateway()) { host in
            let made = try await host.adapter.writeMirror(change(.create, "5", ["ID": 5, "Name": "New"]))
            guard case .stored(let row?) = made else {
                Issue.record("\(made)")
                return
            }
            #expect(row["ID"] == 77 && row["Name"] == "New")
        }
    }

    @Test func `a refusal has the code and the message of the system`() async throws {
        let gateway = Gateway(refusal: #"{"error":{"code":"HR/012","message":{"lang":"en","value":"Not on Sundays"}}}"#)
        try await withGateway(gateway) { host in
            let refused = try await host.adapter.writeMirror(change(.update, "1", ["Name": "Eve"]))
            guard case .refused(let code, let message) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(code == .requestInvalid && message.hasSuffix("It says: HR/012: Not on Sundays"))
        }
    }

    @Test func `one entity is read back by its key`() async throws {
        try await withGateway(Gateway()) { host in
            guard case .found(let row) = try await host.adapter.readMirror("hr-People", "1") else {
                Issue.record("not found")
                return
            }
            #expect(row["Name"] == "Ann")
            await #expect(throws: MirrorRefusal.self) { try await host.adapter.readMirror("hr-People", "2") }
        }
    }

    // MARK: Settings

    private func declare(_ model: String, _ service: WireDictionary) throws -> (AdapterDeclaration, [String]) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-odata-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try model.write(to: folder.appendingPathComponent("model.xml"), atomically: true, encoding: .utf8)
        var members: WireDictionary = ["model": "model.xml"]
        for entry in service { members[entry.key] = entry.value }
        let configuration = AdapterConfiguration(
            ["services": ["hr": .dictionary(members)]], directory: folder.path, upstreamsOfCallers: ["portal"])
        return (try ODataModule.declare(configuration), try ODataModule.limitations(configuration))
    }

    @Test func `each set is a mirror with the settings of the service and its own`() throws {
        let (declaration, _) = try declare(
            Self.version2,
            [
                "upstream": "sap", "freshFor": 60.0, "access": ["read": "public", "write": "public"],
                "sets": ["Skills": ["freshFor": 5.0]],
            ])
        #expect(declaration.mirrors.map(\.entity.text) == ["hr-People", "hr-Skills", "hr-People-Skills"])
        #expect(declaration.mirrors.map(\.settings.freshFor) == [.seconds(60), .seconds(5), .seconds(60)])
        #expect(declaration.mirrors.map(\.reading) == [.increments, .increments, .snapshot])
        #expect(declaration.entities.allSatisfy { $0.writers == .nobody })
    }

    @Test func `a set that is not enabled is not there, and nothing leads to it`() throws {
        let (declaration, limitations) = try declare(
            Self.version2, ["upstream": "sap", "sets": ["Skills": ["enabled": false]]])
        #expect(declaration.entities.map(\.name) == ["hr-People"])
        #expect(limitations.isEmpty)
    }

    @Test func `sets that are called have no records and no mirrors`() throws {
        for service in [["upstream": "sap", "mode": "call"], ["upstream": "portal"]] as [WireDictionary] {
            let declaration = try declare(Self.version2, service).0
            #expect(declaration.entities.isEmpty && declaration.mirrors.isEmpty)
        }
        let mixed = try declare(Self.version2, ["upstream": "sap", "sets": ["People": ["mode": "call"]]]).0
        #expect(mixed.entities.map(\.name) == ["hr-Skills"])
        #expect(mixed.mirrors.map(\.entity.text) == ["hr-Skills"])
    }

    @Test(
        arguments: [
            ["upstream": "sap", "mode": "call", "refresh": 5.0],
            ["upstream": "sap", "mode": "call", "write": "queued"],
            ["upstream": "sap", "sets": ["People": ["mode": "call", "refresh": 60.0]]],
            ["path": "odata/"], ["freshFor": 5.0], ["sets": ["People": ["changes": "Changed"]]],
            ["sets": ["People": ["enabled": false]]], ["upstream": "portal", "mode": "mirror"],
            ["upstream": "sap", "seed": "x.json"],
            ["upstream": "sap", "samples": 5], ["upstream": "sap", "unique": ["People/Name"]],
            ["upstream": "sap", "path": "a/../b"], ["upstream": "sap", "sets": ["People": ["changes": "Name"]]],
            ["upstream": "sap", "sets": ["People": ["changes": "Nothing"]]],
            ["upstream": "sap", "sets": ["Nothing": ["changes": "Name"]]],
            ["upstream": "sap", "sets": ["Nothing": ["enabled": false]]],
        ] as [WireDictionary])
    func `settings that cannot be followed are refused`(service: WireDictionary) throws {
        #expect(throws: ConfigurationProblem.self) { try declare(Self.version2, service) }
    }

    @Test func `what a model has and cannot be served is named, and the rest is served`() throws {
        let model = Self.version4
            .replacingOccurrences(
                of: "<Property Name=\"Home\"",
                with:
                    "<Property Name=\"Photo\" Type=\"Edm.Stream\"/><Property Name=\"Shape\" Type=\"Other.Shape\"/><Property Name=\"Home\""
            )
            .replacingOccurrences(
                of: "<EntityContainer Name=\"C\">",
                with: """
                    <EntityType Name="Log"><Property Name="Text" Type="Edm.String"/></EntityType>
                    <Function Name="Top"><ReturnType Type="Edm.Int32"/></Function><Action Name="Close"/>
                    <EntityContainer Name="C"><EntitySet Name="Logs" EntityType="HR.Log"/>
                    <EntitySet Name="Others" EntityType="Other.Thing"/><FunctionImport Name="Top" Function="HR.Top"/>
                    """)
        let (declaration, limitations) = try declare(model, ["upstream": "sap"])
        #expect(declaration.entities.map(\.name) == ["hr-People"])
        #expect(
            limitations == [
                "the OData service hr leaves out Close: actions of other systems are not called",
                "the OData service hr leaves out Logs: its entities have no key",
                "the OData service hr leaves out Others: there is no type Other.Thing",
                "the OData service hr leaves out People/Photo: the bytes of streams are not fetched",
                "the OData service hr leaves out People/Shape: there is no type Other.Shape",
            ])
    }
}
