import AdapterKit
import Testing

/// Creating, changing, replacing and deleting entities, properties and references in version 4.
@Suite struct WritingTests {
    @Test(arguments: StoreKind.allCases)
    func `a created entity is answered with its address, defaults and entity tag`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let made = try await service.send(
            "POST", "Products",
            ["Name": "Kite", "Price": 9.5, "Status": "InStock,OnSale", "ShippingAddress": ["City": "Oslo"]])
        #expect(made.status == 201, "\(made)")
        let key = try #require(made.json["ID"]?.stringValue)
        #expect(made.headers["Location"] == "https://portico.example/odata/v4/reference/Products(\(key))")
        #expect(made.headers["ETag"] == made.json["@odata.etag"]?.stringValue)
        #expect(made.json["Rating"] == 0 && made.json["Version"] == 1 && made.json["ProductType"] == "Product")
        #expect(made.json["Status"] == "InStock,OnSale" && made.json["ShippingAddress"]?["City"] == "Oslo")
        #expect(
            try await service.names(
                "Products?$filter=Status has ComplianceService.ProductStatus'OnSale' and Name eq 'Kite'") == ["Kite"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a client that wants nothing back gets the entity's address in header fields`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let made = try await service.send(
            "POST", "Categories", ["Name": "Games"], headers: ["Prefer": "return=minimal"])
        #expect(made.status == 204 && made.body.isEmpty)
        #expect(made.headers["OData-EntityId"] == made.headers["Location"])
        #expect(made.headers["Preference-Applied"] == "return=minimal" && made.headers["ETag"] != nil)
        let address = try #require(made.headers["Location"])
        let changed = try await service.send(
            "PATCH", address, ["Description": "Fun"], headers: ["Prefer": "return=representation"])
        #expect(changed.status == 200 && changed.json["Description"] == "Fun")
        #expect(changed.headers["Preference-Applied"] == "return=representation")
        #expect(try await service.send("PATCH", address, ["Description": "Less"]).status == 204)
    }

    @Test(arguments: StoreKind.allCases)
    func `values that are no values of their property are refused by its name`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let wrong: [(WireValue, target: String)] = [
            (["Name": "A", "Price": "dear"], "Price"), (["Name": "A", "Price": 1, "Rating": 256], "Rating"),
            (["Name": "A", "Price": 1, "Temperature": -129], "Temperature"),
            (["Name": "A", "Price": 1, "Quantity": 32_768], "Quantity"),
            (["Name": "A", "Price": 1, "ReleaseDate": "2024-02-30"], "ReleaseDate"),
            (["Name": "A", "Price": 1, "OpenTime": "24:00:00"], "OpenTime"),
            (["Name": "A", "Price": 1, "ShippingTime": "1 day"], "ShippingTime"),
            (["Name": "A", "Price": 1, "Data": "%%"], "Data"), (["Name": "A", "Price": 1, "Status": "Gone"], "Status"),
            (["Name": "A", "Price": 1, "ShippingAddress": "Oslo"], "ShippingAddress"),
            (["Name": "A", "Price": 1, "CategoryID": "no-guid"], "CategoryID"),
            (["Name": .null, "Price": 1], "Name"), (["Price": 1], "Name"),
            (["Name": .string(String(repeating: "a", count: 101)), "Price": 1], "Name"),
            (["Name": "A", "Price": 1, "Nothing": 2], "Nothing"),
        ]
        for (value, target) in wrong {
            let answer = try await service.send("POST", "Products", value)
            #expect(answer.status == 400, "\(value): \(answer)")
            #expect(answer.json["error"]?["target"]?.stringValue?.contains(target) == true, "\(value): \(answer)")
        }
        #expect(try await service.get("Products/$count").text == "7")
    }

    @Test(arguments: StoreKind.allCases)
    func `places are on the earth and have as many numbers as a place has`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        func made(_ type: WireValue, _ coordinates: WireValue, _ property: String = "Location") async throws -> Int {
            let product: WireDictionary = [
                "Name": "Place", "Price": 1, property: ["type": type, "coordinates": coordinates],
            ]
            return try await service.send("POST", "Products", .dictionary(product)).status
        }
        for good in [[10, 20], [-180, 90], [1.5, 2.5, 300]] as [WireValue] {
            #expect(try await made("Point", good) == 201, "\(good)")
        }
        for wrong in [[181, 0], [0, 91], [1], [1, 2, 3, 4, 5], [1, "x"], 1, [[1, 2]]] as [WireValue] {
            #expect(try await made("Point", wrong) == 400, "\(wrong)")
        }
        #expect(try await made("LineString", [[1, 2], [3, 4]], "Route") == 201)
        #expect(try await made("LineString", [[1, 2]], "Route") == 400)
        #expect(try await made("Polygon", [[[0, 0], [0, 1], [1, 1], [0, 0]]], "Area") == 201)
        #expect(try await made("Polygon", [[[0, 0], [0, 1], [1, 1], [2, 2]]], "Area") == 400)
        #expect(try await made("Point", [1, 2], "Area") == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `a change sets what it names, and a replacement resets the rest`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let chair = try await service.product("Office Chair")
        #expect(try await service.send("PATCH", chair, ["Rating": 7]).status == 204)
        let changed = try await service.get(chair).json
        #expect(changed["Rating"] == 7 && changed["Quantity"] == 32_767 && changed["Version"] == 2)
        #expect(try await service.send("PUT", chair, ["Name": "Stool", "Price": 10]).status == 204)
        let replaced = try await service.get(chair).json
        #expect(replaced["Name"] == "Stool" && replaced["Rating"] == 0 && replaced["Quantity"] == 0)
        #expect(replaced["ReleaseDate"] == .null && replaced["ID"] == changed["ID"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a write with another entity tag changes nothing`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let mug = try await service.product("Coffee Mug")
        let tag = try #require(try await service.get(mug).headers["ETag"])
        for (method, body) in [
            ("PATCH", ["Price": 1] as WireValue), ("PUT", ["Name": "A", "Price": 1]), ("DELETE", .null),
        ] {
            let answer = try await service.send(method, mug, body, headers: ["If-Match": "\"1-other\""])
            #expect(answer.status == 412, "\(method): \(answer)")
        }
        #expect(try await service.send("PATCH", mug, ["Price": 2], headers: ["If-None-Match": "*"]).status == 412)
        #expect(try await service.send("PATCH", mug, ["Price": 2], headers: ["If-Match": tag]).status == 204)
        #expect(try await service.send("PATCH", mug, ["Price": 3], headers: ["If-Match": tag]).status == 412)
        #expect(try await service.send("PATCH", mug, ["Price": 3], headers: ["If-Match": "*"]).status == 204)
        #expect(try await service.get("\(mug)/Price/$value").text == "3")
        #expect(try await service.send("DELETE", mug, headers: ["If-Match": tag]).status == 412)
        #expect(try await service.send("DELETE", mug).status == 204)
        #expect(try await service.get(mug).status == 404)
        #expect(try await service.send("DELETE", mug).status == 404)
    }

    @Test(arguments: StoreKind.allCases)
    func `what the service computes and what stays as it was are not the client's`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let made = try await service.send(
            "POST", "Products", ["Name": "Numbered", "Price": 1, "SerialNumber": "S1", "Version": 40, "ID": .null])
        #expect(made.status == 201 && made.json["Version"] == 1 && made.json["SerialNumber"] == "S1")
        let path = "Products(\(made.json["ID"]?.stringValue ?? ""))"
        _ = try await service.send("PATCH", path, ["SerialNumber": "S2", "Version": 90, "Price": 2])
        let now = try await service.get(path).json
        #expect(now["SerialNumber"] == "S1" && now["Version"] == 2 && now["Price"]?.doubleValue == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `entities are created with what is nested in them and bound to them, or not at all`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        let kitchen = try await service.key(of: "Kitchen", in: "Categories")
        let made = try await service.send(
            "POST", "Products",
            [
                "Name": "Kettle", "Price": 30, "Category@odata.bind": .string("Categories(\(kitchen))"),
                "Descriptions": [
                    ["LanguageKey": "EN", "Description": "Boils water"], ["LanguageKey": "DE", "Description": "Kocht"],
                ],
            ])
        #expect(made.status == 201, "\(made)")
        #expect(made.json["Descriptions"]?.arrayValue?.count == 2)
        let path = "Products(\(made.json["ID"]?.stringValue ?? ""))"
        #expect(try await service.get("\(path)/Category").json["Name"] == "Kitchen")
        #expect(try await service.get("\(path)/Descriptions/$count").text == "2")
        let nested = try await service.send(
            "POST", "Products", ["Name": "Chess", "Price": 20, "Category": ["Name": "Games", "Description": "Fun"]])
        #expect(nested.status == 201 && nested.json["Category"]?["Name"] == "Games", "\(nested)")
        let before = try await service.get("Products/$count").text
        let failing = try await service.send(
            "POST", "Products", ["Name": "Half", "Price": 1, "Category": ["Name": "Games"]])
        #expect(failing.status == 409, "\(failing)")
        let unknown = try await service.send(
            "POST", "Products",
            ["Name": "Half", "Price": 1, "Category@odata.bind": "Categories(00000000-0000-0000-0000-000000000000)"])
        #expect(unknown.status == 400, "\(unknown)")
        #expect(try await service.get("Products/$count").text == before)
        let inside = try await service.send("POST", "Categories(\(kitchen))/Products", ["Name": "Pan", "Price": 5])
        #expect(inside.status == 201 && inside.json["CategoryID"]?.stringValue == kitchen, "\(inside)")
    }

    @Test(arguments: StoreKind.allCases)
    func `nested lists of a change replace what is linked, and nested deltas change it`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let key = try await service.key(of: "Laptop", in: "Products")
        let delta = try await service.send(
            "PATCH", laptop,
            [
                "Descriptions@delta": [
                    ["LanguageKey": "EN", "Description": "Changed"], ["LanguageKey": "IT", "Description": "Nuovo"],
                    [
                        "@removed": ["reason": "deleted"],
                        "@id": .string("ProductDescriptions(ProductID=\(key),LanguageKey='DE')"),
                    ],
                ]
            ])
        #expect(delta.status == 204, "\(delta)")
        let languages = "\(laptop)/Descriptions?$orderby=LanguageKey"
        #expect(try await service.column("LanguageKey", of: languages) == ["EN", "IT"])
        #expect(try await service.column("Description", of: languages) == ["Changed", "Nuovo"])
        let replaced = try await service.send(
            "PATCH", laptop, ["Descriptions": [["LanguageKey": "FR", "Description": "Seul"]]])
        #expect(replaced.status == 204, "\(replaced)")
        #expect(try await service.column("LanguageKey", of: languages) == ["FR"])
        let old = try await service.send(
            "PATCH", laptop, ["Descriptions": [["LanguageKey": "FR", "Description": "x"]]],
            headers: ["OData-Version": "4.0"])
        #expect(old.status == 400 && old.json["error"]?["target"] == "Descriptions")
    }

    @Test(arguments: StoreKind.allCases)
    func `a nested delta removes what belongs to the entity and leaves what belongs to others`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let mug = try await service.key(of: "Coffee Mug", in: "Products")
        let foreign = "ProductDescriptions(ProductID=\(mug),LanguageKey='EN')"
        let delta = try await service.send(
            "PATCH", laptop, ["Descriptions@delta": [["@removed": ["reason": "deleted"], "@id": .string(foreign)]]])
        #expect(delta.status == 204, "\(delta)")
        #expect(try await service.get(foreign).status == 200)
        let related: WireValue = ["RelatedProducts@delta": [["@id": .string("Products(\(mug))")]]]
        #expect(try await service.send("PATCH", laptop, related).status == 204)
        #expect(try await service.send("PATCH", laptop, related).status == 204)
        #expect(try await service.names("\(laptop)/RelatedProducts") == ["Coffee Mug"])
        let parted: WireValue = [
            "RelatedProducts@delta": [["@id": .string("Products(\(mug))"), "@removed": ["reason": "changed"]]]
        ]
        #expect(try await service.send("PATCH", laptop, parted).status == 204)
        #expect(try await service.names("\(laptop)/RelatedProducts").isEmpty)
        #expect(try await service.get("Products(\(mug))").status == 200)
    }

    @Test(arguments: StoreKind.allCases)
    func `a delta does to a read-only set what single requests may do to it: nothing`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let key = try await service.key(of: "Read-only item A", in: "ReadOnlyItems")
        for item in [["ID": .string(key), "Name": "C"], ["ID": .string(key), "@removed": [:]], ["Name": "C"]]
            as [WireValue]
        {
            let answer = try await service.send("PATCH", "ReadOnlyItems", ["@context": "#$delta", "value": [item]])
            #expect(answer.status == 405, "\(item): \(answer)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `references link, are listed and are taken away`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let (laptop, mug) = (try await service.product("Laptop"), try await service.product("Coffee Mug"))
        let related = "\(laptop)/RelatedProducts"
        #expect(try await service.send("POST", "\(related)/$ref", ["@odata.id": .string(mug)]).status == 204)
        #expect(try await service.names(related) == ["Coffee Mug"])
        #expect(try await service.rows("\(related)/$ref").first?["@odata.id"]?.stringValue?.hasSuffix(mug) == true)
        #expect(try await service.send("POST", "\(related)/$ref", ["@odata.id": "Products(1)"]).status == 400)
        #expect(try await service.send("DELETE", "\(related)/$ref?$id=\(mug)").status == 204)
        #expect(try await service.names(related).isEmpty)
        let kitchen = "Categories(\(try await service.key(of: "Kitchen", in: "Categories")))"
        let phone = try await service.product("Smartphone")
        #expect(try await service.send("POST", "\(kitchen)/Products/$ref", ["@odata.id": .string(phone)]).status == 204)
        #expect(try await service.names("\(kitchen)/Products?$orderby=Name") == ["Coffee Mug", "Smartphone"])
        #expect(try await service.send("DELETE", "\(kitchen)/Products/$ref?$id=\(phone)").status == 204)
        #expect(try await service.names("\(kitchen)/Products") == ["Coffee Mug"])
        #expect(try await service.send("PUT", "\(laptop)/Category/$ref", ["@odata.id": .string(kitchen)]).status == 204)
        #expect(try await service.get("\(laptop)/Category").json["Name"] == "Kitchen")
        #expect(
            try await service.get("\(laptop)/Category/$ref").json["@odata.id"]?.stringValue?.hasSuffix(kitchen) == true)
        #expect(try await service.send("DELETE", "\(laptop)/Category/$ref").status == 204)
        #expect(try await service.get("\(laptop)/Category").status == 204)
    }

    @Test(arguments: StoreKind.allCases)
    func `single properties are changed, replaced and emptied`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        #expect(try await service.send("PUT", "\(laptop)/Name", ["value": "Notebook"]).status == 204)
        #expect(try await service.get("\(laptop)/Name/$value").text == "Notebook")
        let raw = try await service.send(
            "PUT", "\(laptop)/Description/$value", body: Array("Plain".utf8), headers: ["Content-Type": "text/plain"])
        #expect(raw.status == 204, "\(raw)")
        #expect(try await service.get("\(laptop)/Description").json["value"] == "Plain")
        #expect(try await service.send("PATCH", "\(laptop)/ShippingAddress", ["City": "Rome"]).status == 204)
        let address = try await service.get("\(laptop)/ShippingAddress").json
        #expect(address["City"] == "Rome" && address["Street"] != .null)
        #expect(try await service.send("PUT", "\(laptop)/ShippingAddress", ["City": "Bonn"]).status == 204)
        #expect(try await service.get("\(laptop)/ShippingAddress").json["Street"] == .null)
        #expect(try await service.send("DELETE", "\(laptop)/Description").status == 204)
        #expect(try await service.get("\(laptop)/Description").status == 204)
        #expect(try await service.send("DELETE", "\(laptop)/Name").status == 400)
        #expect(try await service.send("PUT", "\(laptop)/Price", ["value": "x"]).status == 400)
        #expect(
            try await service.send("PUT", "\(laptop)/ID", ["value": "00000000-0000-0000-0000-000000000000"]).status
                >= 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `unique values, read-only sets and missing entities are refused by their codes`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let taken = try await service.send("POST", "Categories", ["Name": "Kitchen"])
        #expect(taken.status == 409 && taken.json["error"]?["code"] == "record.exists")
        #expect(try await service.send("POST", "ReadOnlyItems", ["Name": "C"]).status == 405)
        let item = "ReadOnlyItems(\(try await service.key(of: "Read-only item A", in: "ReadOnlyItems")))"
        #expect(try await service.send("PATCH", item, ["Name": "C"]).status == 405)
        #expect(try await service.send("DELETE", item).status == 405)
        let nobody = "Products(00000000-0000-0000-0000-000000000000)"
        #expect(try await service.send("PATCH", nobody, ["Price": 1]).status == 404)
        #expect(
            try await service.send(
                "POST", "Products", body: Array("{".utf8), headers: ["Content-Type": "application/json"]
            ).status == 400)
        #expect(
            try await service.send("POST", "Products", body: [], headers: ["Content-Type": "text/html"]).status == 415)
    }

    @Test(arguments: StoreKind.allCases)
    func `deleting a product takes its descriptions with it and leaves its category`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.get("ProductDescriptions/$count").text == "7")
        #expect(try await service.send("DELETE", try await service.product("Laptop")).status == 204)
        #expect(try await service.get("ProductDescriptions/$count").text == "5")
        #expect(try await service.get("Categories/$count").text == "3")
    }

    @Test(arguments: StoreKind.allCases)
    func `an entity with a key of several parts is created where it is put`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let mug = try await service.key(of: "Coffee Mug", in: "Products")
        let path = "ProductDescriptions(ProductID=\(mug),LanguageKey='IT')"
        let made = try await service.send("PUT", path, ["Description": "Tazza"])
        #expect(made.status == 201 && made.json["LanguageKey"] == "IT", "\(made)")
        #expect(try await service.send("PUT", path, ["Description": "Tazzina"]).status == 204)
        #expect(try await service.get("\(path)/Description/$value").text == "Tazzina")
        let twice = try await service.send(
            "POST", "ProductDescriptions", ["ProductID": .string(mug), "LanguageKey": "IT", "Description": "x"])
        #expect(twice.status == 409)
    }

    @Test(arguments: StoreKind.allCases)
    func `a delta of a collection happens whole or not at all`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let (mug, chair) = (
            try await service.key(of: "Coffee Mug", in: "Products"), try await service.product("Office Chair")
        )
        func patch(_ items: WireValue, _ headers: MountHeaders = [:]) async throws -> ServiceResponse {
            try await service.send("PATCH", "Products", ["@context": "#$delta", "value": items], headers: headers)
        }
        let failed = try await patch([["ID": .string(mug), "Price": 7], ["Name": "Bad", "Price": "dear"]])
        #expect(failed.status == 400)
        #expect(try await service.get("Products(\(mug))/Price/$value").text == "15.5")
        let done = try await patch(
            [
                ["ID": .string(mug), "Price": 7], ["@id": .string(chair), "@removed": ["reason": "deleted"]],
                ["Name": "New", "Price": 3],
            ], ["Prefer": "return=representation"])
        #expect(done.status == 200, "\(done)")
        let told = try #require(done.json["value"]?.arrayValue)
        #expect(told.count == 3 && told[0]["Price"]?.doubleValue == 7 && told[2]["Name"] == "New")
        #expect(told[1]["@odata.removed"] == ["reason": "deleted"])
        #expect(try await service.get(chair).status == 404)
        #expect(try await patch([["@removed": ["reason": "deleted"]]]).status == 400)
        #expect(try await patch([["ID": .string(mug), "@removed": ["reason": "changed"]]]).status == 400)
        #expect(try await patch([["@context": "#Products/$link", "source": "x"]]).status == 501)
        let tag = try #require(try await service.get("Products(\(mug))").headers["ETag"])
        #expect(try await patch([["ID": .string(mug), "@etag": .string(tag), "Price": 8]]).status == 204)
        #expect(try await patch([["ID": .string(mug), "@etag": .string(tag), "Price": 9]]).status == 412)
        #expect(try await patch([], ["OData-Version": "4.0"]).status == 405)
    }

    @Test(arguments: StoreKind.allCases)
    func `nested entities are limited in depth and in number`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, limits: ["insertEntities": 3])
        let descriptions: [WireValue] = ["EN", "DE", "FR"].map { ["LanguageKey": .string($0), "Description": "x"] }
        let most = try await service.send(
            "POST", "Products", ["Name": "A", "Price": 1, "Descriptions": .array(Array(descriptions.prefix(2)))])
        #expect(most.status == 201, "\(most)")
        let more = try await service.send(
            "POST", "Products", ["Name": "B", "Price": 1, "Descriptions": .array(descriptions)])
        #expect(more.status == 400 && more.json["error"]?["code"] == "request.limitExceeded", "\(more)")
        let flat = try await ReferenceService(kind, limits: ["insertDepth": 1])
        #expect(try await flat.send("POST", "Products", ["Name": "A", "Price": 1]).status == 201)
        let nested = try await flat.send("POST", "Products", ["Name": "B", "Price": 1, "Category": ["Name": "Games"]])
        #expect(nested.status == 400 && nested.json["error"]?["code"] == "request.limitExceeded", "\(nested)")
    }
}
