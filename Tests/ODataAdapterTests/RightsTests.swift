import AdapterKit
import Testing

/// Whatever a request needs is asked before anything is changed: the right to write each set that changes, and to read
/// what the answer shows.
@Suite struct ODataRightsTests {
    private static let open: WireDictionary = ["read": "public", "write": "public"]

    /// The reference service with these accesses of sets; the others are open to all.
    private func service(
        _ kind: StoreKind, _ sets: [String: WireDictionary], access: WireDictionary = open
    ) async throws -> ReferenceService {
        let given = sets.map { WireDictionary.Entry(key: $0.key, value: ["access": .dictionary($0.value)]) }
        return try await ReferenceService(
            kind,
            settings: ["access": .dictionary(access), "sets": .dictionary(WireDictionary(uncheckedUniqueKeys: given))])
    }

    private static let hidden: WireDictionary = ["read": "none"]
    private static let closed: WireDictionary = ["write": "none"]

    private func count(_ set: String, _ service: ReferenceService) async throws -> String {
        try await service.get("\(set)/$count").text
    }

    @Test(arguments: StoreKind.allCases)
    func `an action that changes all sets asks the right to write each of them`(kind: StoreKind) async throws {
        let service = try await service(kind, ["DecimalSamples": Self.closed])
        #expect(try await service.send("POST", "Categories", ["Name": "Games"]).status == 201)
        for root in [ReferenceService.version4, ReferenceService.version2] {
            let answer = try await service.send("POST", "Reseed", [:], root: root)
            #expect(answer.status == 401, "\(answer)")
        }
        #expect(try await count("Categories", service) == "4")
    }

    @Test(arguments: StoreKind.allCases)
    func `who may not read what a creation answers creates nothing, unless nothing is to be answered`(
        kind: StoreKind
    ) async throws {
        let service = try await service(kind, ["Categories": Self.hidden, "Products": Self.hidden])
        for (root, name) in [(ReferenceService.version4, "A"), (ReferenceService.version2, "B")] {
            let body: WireValue = ["Name": .string(name)]
            let refused = try await service.send(
                "POST", "Categories", body, headers: ["Accept": "application/json"], root: root)
            #expect(refused.status == 401, "\(refused)")
            // The name is unique, so it was not taken.
            let made = try await service.send("POST", "Categories", body, headers: ["Prefer": "return=minimal"])
            #expect(made.status == 204 && made.body.isEmpty, "\(made)")
            #expect(made.headers["Location"] != nil && made.headers["ETag"] != nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is created is not answered with what the caller may not read besides`(kind: StoreKind) async throws {
        let service = try await service(kind, ["Products": Self.hidden])
        for target in ["Categories?$expand=Products", "Categories?$expand=Nothing"] {
            let answer = try await service.send("POST", target, ["Name": "Games"])
            #expect(answer.status >= 400, "\(answer)")
        }
        let nested = try await service.send(
            "POST", "Categories", ["Name": "Games", "Products": [["Name": "Kite", "Price": 1]]])
        #expect(nested.status == 401, "\(nested)")
        #expect(try await count("Categories", service) == "3")
        #expect(
            try await service.send(
                "POST", "Categories?$expand=Products", ["Name": "Games"],
                headers: ["Prefer": "return=minimal"]
            ).status == 204)
    }

    @Test(arguments: StoreKind.allCases)
    func `a change is not made whose answer would show what the caller may not read`(kind: StoreKind) async throws {
        let service = try await service(kind, ["Categories": Self.hidden])
        let mug = try await service.product("Coffee Mug")
        let whole: MountHeaders = ["Prefer": "return=representation"]
        for (method, target, body) in [
            ("PATCH", "\(mug)?$expand=Category", ["Price": 99]),
            ("POST", "\(mug)/ComplianceService.ApplyDiscount?$expand=Category", ["percentage": 50]),
        ] as [(String, String, WireValue)] {
            let answer = try await service.send(method, target, body, headers: whole)
            #expect(answer.status == 401, "\(method): \(answer)")
        }
        #expect(try await service.get("\(mug)/Price").json["value"]?.doubleValue == 15.5)
    }

    @Test(arguments: StoreKind.allCases)
    func `who may write a set and not read it changes and deletes by key, and is shown nothing`(
        kind: StoreKind
    ) async throws {
        let service = try await service(kind, ["Categories": Self.hidden])
        let made = try await service.send(
            "POST", "Categories", ["Name": "Games"], headers: ["Prefer": "return=minimal"])
        let category = try #require(made.headers["Location"])
        for root in [ReferenceService.version4, ReferenceService.version2] {
            let target =
                root == ReferenceService.version4 ? category : "Categories(guid'\(category.suffix(37).dropLast())')"
            let changed = try await service.send(
                "PATCH", target, [:], headers: ["Accept": "application/json"], root: root)
            #expect(changed.status == 204 && changed.body.isEmpty, "\(changed)")
        }
        let whole = try await service.send(
            "PATCH", category, ["Description": "Fun"], headers: ["Prefer": "return=representation"])
        #expect(whole.status == 401, "\(whole)")
        for target in [category, "\(category)/Name", "\(category)/Name/$value"] {
            #expect(try await service.get(target).status == 401)
        }
        let property = try await service.send(
            "PUT", "\(category)/Description", ["value": "Fun"], headers: ["Prefer": "return=representation"])
        #expect(property.status == 401, "\(property)")
        #expect(try await service.send("PUT", "\(category)/Description", ["value": "Fun"]).status == 204)
        #expect(try await service.send("DELETE", category).status == 204)
        #expect(try await service.send("DELETE", category).status == 404)
    }

    @Test(arguments: StoreKind.allCases)
    func `a change set of which one answer may not be given makes nothing`(kind: StoreKind) async throws {
        let service = try await service(kind, ["ProductDescriptions": Self.hidden, "MediaItems": Self.hidden])
        let mug = try await service.product("Coffee Mug")
        let unread: [[String: WireValue]] = [
            ["method": "GET", "url": "MediaItems"],
            ["method": "GET", "url": "Products?$expand=Descriptions"],
            [
                "method": "PATCH", "url": .string("\(mug)?$expand=Descriptions"), "body": ["Price": 99],
                "headers": ["Prefer": "return=representation"],
            ],
            ["method": "POST", "url": "Products?$expand=Descriptions", "body": ["Name": "Kite", "Price": 1]],
        ]
        for request in unread {
            var last = WireDictionary()
            for (name, value) in request { last[name] = value }
            last["id"] = "2"
            last["atomicityGroup"] = "g"
            let answer = try await service.send(
                "POST", "$batch",
                [
                    "requests": [
                        [
                            "id": "1", "atomicityGroup": "g", "method": "POST", "url": "Categories",
                            "body": ["Name": "Games"],
                        ],
                        .dictionary(last),
                    ]
                ])
            let statuses = (answer.json["responses"]?.arrayValue ?? []).map { $0["status"]?.int64Value }
            #expect(statuses == [424, 401], "\(request): \(answer)")
            #expect(try await count("Categories", service) == "3", "\(request)")
        }
        #expect(try await count("Products", service) == "7")
    }

    @Test(arguments: StoreKind.allCases)
    func `what a change set made is told as made, whatever a read after it finds`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let answer = try await service.send(
            "POST", "$batch",
            [
                "requests": [
                    [
                        "id": "1", "atomicityGroup": "g", "method": "POST", "url": "Categories",
                        "body": ["Name": "Games"],
                    ],
                    [
                        "id": "2", "atomicityGroup": "g", "method": "GET",
                        "url": "Products(00000000-0000-0000-0000-000000000000)",
                    ],
                ]
            ])
        let statuses = (answer.json["responses"]?.arrayValue ?? []).map { $0["status"]?.int64Value }
        #expect(statuses == [201, 404], "\(answer)")
        #expect(try await count("Categories", service) == "4")
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion asks the right to write what goes or changes with it`(kind: StoreKind) async throws {
        for (closed, target) in [("ProductDescriptions", "Products"), ("Products", "Categories")] {
            let service = try await service(kind, [closed: Self.closed])
            let (before, first) = (try await count(closed, service), try await service.rows(target))
            for row in first {
                let path = "\(target)(\(row["ID"]?.stringValue ?? ""))"
                let holds = try await service.rows(
                    closed == "Products" ? "\(path)/Products" : "\(path)/Descriptions"
                ).isEmpty
                for root in [ReferenceService.version2, ReferenceService.version4] {
                    let key =
                        root == ReferenceService.version2 ? "\(target)(guid'\(row["ID"]?.stringValue ?? "")')" : path
                    let answer = try await service.send("DELETE", key, root: root)
                    #expect(holds ? [204, 404].contains(answer.status) : answer.status == 401, "\(path): \(answer)")
                }
            }
            #expect(try await count(closed, service) == before)
        }
    }
}
