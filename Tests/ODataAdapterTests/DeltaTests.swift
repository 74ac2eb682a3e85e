import AdapterKit
import Foundation
import Testing

/// Delta links of version 4 and version 2: what changed since a result was read.
@Suite struct DeltaTests {
    private func link(_ answer: ServiceResponse) throws -> String {
        try #require(answer.json["@odata.deltaLink"]?.stringValue, "\(answer)")
    }

    @Test(arguments: StoreKind.allCases)
    func `a tracked result ends with a delta link, an untracked one does not`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, settings: ["pageSize": 3])
        let first = try await service.get("Products?$select=Name", ["Prefer": "odata.track-changes"])
        #expect(first.headers["Preference-Applied"] == "odata.track-changes")
        #expect(first.json["@odata.deltaLink"] == nil)
        var page = first
        while let next = page.json["@odata.nextLink"]?.stringValue { page = try await service.get(next) }
        #expect(try link(page).contains("$deltatoken="))
        #expect(try await service.get("Categories").json["@odata.deltaLink"] == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `additions, changes and removals come once, with a new link`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let start = try link(
            try await service.get("Products?$filter=Price gt 100&$select=Name,Price", ["Prefer": "track-changes"]))
        #expect(try await service.get(start).json["value"] == [])
        let (laptop, chair, phone) = (
            try await service.product("Laptop"), try await service.product("Office Chair"),
            try await service.product("Smartphone")
        )
        _ = try await service.send("PATCH", laptop, ["Price": 900])
        _ = try await service.send("PATCH", laptop, ["Price": 901])
        _ = try await service.send("PATCH", chair, ["Price": 1])
        _ = try await service.send("DELETE", phone)
        _ = try await service.send("POST", "Products", ["Name": "New", "Price": 500])
        let delta = try await service.get(start)
        #expect(
            delta.json["@odata.context"]?.stringValue?.hasSuffix("$metadata#Products(Name,Price)/$delta") == true,
            "\(delta)")
        let changes = try #require(delta.json["value"]?.arrayValue)
        #expect(changes.count == 4)
        #expect(changes.first { $0["Name"] == "Laptop" }?["Price"]?.doubleValue == 901)
        #expect(changes.contains { $0["Name"] == "New" })
        let removed = changes.compactMap { $0["@odata.removed"]?["reason"]?.stringValue }.sorted()
        #expect(removed == ["changed", "deleted"])
        let gone = changes.first { $0["@odata.removed"]?["reason"] == "deleted" }
        #expect(gone?["@odata.id"]?.stringValue?.hasSuffix(phone) == true)
        #expect(try await service.get(try link(delta)).json["value"] == [])
        #expect(try await service.get(start).json["value"]?.arrayValue?.count == 4)
    }

    @Test(arguments: StoreKind.allCases)
    func `changes come in pages and are counted`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let start = try link(try await service.get("Categories?$count=true", ["Prefer": "track-changes"]))
        for number in 0..<5 { _ = try await service.send("POST", "Categories", ["Name": .string("New \(number)")]) }
        #expect(
            try await service.get(start.replacingOccurrences(of: "Categories?", with: "Categories/$count?")).text == "5"
        )
        var (found, pages): (Set<String>, Int) = ([], 0)
        var next: String? = start
        while let address = next {
            let page = try await service.get(address, ["Prefer": "maxpagesize=2"])
            #expect(page.json["@odata.count"]?.int64Value == Int64(5 - found.count))
            found.formUnion(page.json["value"]?.arrayValue?.compactMap { $0["Name"]?.stringValue } ?? [])
            pages += 1
            next = page.json["@odata.nextLink"]?.stringValue
            #expect((next == nil) == (page.json["@odata.deltaLink"] != nil))
        }
        #expect(found.count == 5 && pages == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `clients of version 4.0 get deleted entities in its form`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let old: MountHeaders = ["OData-MaxVersion": "4.0"]
        let start = try link(
            try await service.get("Categories", ["Prefer": "odata.track-changes", "OData-MaxVersion": "4.0"]))
        let kitchen = "Categories(\(try await service.key(of: "Kitchen", in: "Categories")))"
        _ = try await service.send("POST", "Categories", ["Name": "Games"])
        for product in try await service.rows("\(kitchen)/Products?$select=ID") {
            _ = try await service.send("DELETE", "Products(\(product["ID"]?.stringValue ?? ""))")
        }
        #expect(try await service.send("DELETE", kitchen).status == 204)
        let changes = try #require(try await service.get(start, old).json["value"]?.arrayValue)
        #expect(changes.count == 2 && changes[0]["@odata.removed"] == nil && changes[1]["@odata.removed"] == nil)
        let gone = changes.first { $0["@odata.context"]?.stringValue?.hasSuffix("$deletedEntity") == true }
        #expect(gone?["reason"] == "deleted" && gone?["id"]?.stringValue?.hasSuffix(kitchen) == true, "\(changes)")
        #expect(changes.contains { $0["Name"] == "Games" })
    }

    @Test(arguments: StoreKind.allCases)
    func `a change of what is expanded is within its entity`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let mug = try await service.product("Coffee Mug")
        let start = try link(
            try await service.get(
                "Products?$select=Name&$expand=Descriptions($select=Description)", ["Prefer": "track-changes"]))
        let made = try await service.send("POST", "\(mug)/Descriptions", ["LanguageKey": "IT", "Description": "Tazza"])
        #expect(made.status == 201, "\(made)")
        let changes = try #require(try await service.get(start).json["value"]?.arrayValue)
        #expect(changes.count == 1)
        let told =
            changes[0]["Descriptions@delta"] ?? changes[0]["Descriptions@odata.delta"] ?? changes[0]["Descriptions"]
        #expect(told?.arrayValue?.contains { $0["Description"] == "Tazza" } == true, "\(changes)")
    }

    @Test(arguments: StoreKind.allCases)
    func `a single entity that is expanded is written as it is now`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let start = try link(
            try await service.get(
                "Products?$select=Name&$expand=Category($select=Name)&$filter=Name eq 'Coffee Mug'",
                ["Prefer": "track-changes"]))
        let kitchen = "Categories(\(try await service.key(of: "Kitchen", in: "Categories")))"
        _ = try await service.send("PATCH", kitchen, ["Name": "Galley"])
        let changes = try #require(try await service.get(start).json["value"]?.arrayValue)
        #expect(changes.map { $0["Category"]?["Name"] } == ["Galley"], "\(changes)")
    }

    @Test(arguments: StoreKind.allCases)
    func `results that cannot be followed, and tokens that are none, are refused`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let grouped = try await service.get(
            "Products?$apply=groupby((Rating),aggregate($count as N))", ["Prefer": "track-changes"])
        #expect(grouped.json["@odata.deltaLink"] == nil)
        #expect(try await service.get("Products?$deltatoken=nonsense").status >= 400)
        #expect(try await service.get("Products?$skiptoken=nonsense").status >= 400)
        let start = try link(try await service.get("Products", ["Prefer": "track-changes"]))
        let filtered = try link(try await service.get("Products?$filter=Price gt 100", ["Prefer": "track-changes"]))
        let token = filtered.components(separatedBy: "$deltatoken=").last ?? ""
        #expect(try await service.get(filtered).status == 200)
        #expect(try await service.get("Products?$filter=Price gt 200&$deltatoken=\(token)").status >= 400)
        let other = start.replacingOccurrences(of: "/Products?", with: "/Categories?")
        #expect(try await service.get(other).status >= 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `version 2 has delta links with tombstones`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let json: MountHeaders = ["Accept": "application/json"]
        let first = try await service.get("Categories", json, root: ReferenceService.version2)
        let start = try #require(first.json["d"]?["__delta"]?.stringValue, "\(first)")
        let made = try await service.send("POST", "Categories", ["Name": "Games"])
        let kitchen = "Categories(\(try await service.key(of: "Kitchen", in: "Categories")))"
        _ = try await service.send("PATCH", kitchen, ["Description": "Pots"])
        let delta = try await service.get(start, json)
        let rows = try #require(delta.json["d"]?["results"]?.arrayValue)
        #expect(Set(rows.compactMap { $0["Name"]?.stringValue }) == ["Games", "Kitchen"])
        _ = try await service.send("DELETE", made.headers["Location"] ?? "")
        let next = try #require(delta.json["d"]?["__delta"]?.stringValue)
        let atom = try await service.get(next, ["Accept": "application/atom+xml"])
        #expect(atom.text.contains("deleted-entry") && atom.text.contains("Categories(guid'"), "\(atom)")
    }
}
