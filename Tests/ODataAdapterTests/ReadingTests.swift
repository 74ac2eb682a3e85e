import AdapterKit
import Testing

/// `GET` of version 4: collections, entities, properties, streams, documents.
@Suite struct ReadingTests {
    @Test(arguments: StoreKind.allCases)
    func `filters choose rows by every kind of value`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let expected: [(filter: String, names: [String])] = [
            ("Price gt 799.99", ["Laptop", "Premium Laptop Pro"]),
            ("Price ge 799.99", ["Laptop", "Premium Laptop Pro", "Smartphone"]),
            ("not (Price lt 799.99) and Rating ne 0", ["Laptop"]),
            ("contains(Name,'Mouse')", ["Gaming Mouse Ultra", "Wireless Mouse"]),
            ("startswith(Name,'Gaming') or endswith(Name,'Mug')", ["Coffee Mug", "Gaming Mouse Ultra"]),
            ("ReleaseDate eq 2024-01-15", ["Laptop"]),
            ("ReleaseDate lt 2024-01-15", ["Coffee Mug"]),
            ("OpenTime ge 09:30:00", ["Laptop", "Office Chair"]),
            ("ShippingTime eq duration'P1D'", ["Laptop"]),
            ("year(ReleaseDate) eq 2024 and month(ReleaseDate) eq 12", ["Office Chair"]),
            ("Data eq binary'AQID'", ["Wireless Mouse"]),
            ("Name in ('Laptop','Coffee Mug','Nothing')", ["Coffee Mug", "Laptop"]),
            ("Category/Name eq 'Kitchen'", ["Coffee Mug"]),
            ("Descriptions/any(d:d/LanguageKey eq 'DE')", ["Laptop"]),
            ("Descriptions/$count eq 0 and Quantity gt 0", ["Office Chair"]),
            ("Temperature lt 0", ["Coffee Mug", "Laptop"]),
            ("isof('ComplianceService.SpecialProduct') and Rating gt 0", ["Laptop"]),
        ]
        for (filter, names) in expected {
            #expect(try await service.names("Products?$orderby=Name&$filter=\(filter)") == names, "\(filter)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pages are linked until every entity was read once`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, settings: ["pageSize": 3])
        var link: String? = "Products?$orderby=Price desc&$select=Name&$count=true"
        var pages: [[String]] = []
        while let next = link {
            let page = try await service.get(next)
            #expect(page.json["@odata.count"] == 7)
            pages.append(page.json["value"]?.arrayValue?.compactMap { $0["Name"]?.stringValue } ?? [])
            link = page.json["@odata.nextLink"]?.stringValue
        }
        #expect(pages.map(\.count) == [3, 3, 1])
        #expect(pages.flatMap { $0 }.first == "Premium Laptop Pro" && pages.flatMap { $0 }.last == "Coffee Mug")
        #expect(Set(pages.flatMap { $0 }).count == 7)
    }

    @Test(arguments: StoreKind.allCases)
    func `a preference for smaller pages is applied, one for larger ones is cut`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, settings: ["pageSize": 3])
        let small = try await service.get("Products", ["Prefer": "odata.maxpagesize=2"])
        #expect(small.json["value"]?.arrayValue?.count == 2)
        #expect(small.headers["Preference-Applied"] == "odata.maxpagesize=2")
        let large = try await service.get("Products", ["Prefer": "maxpagesize=50"])
        #expect(large.json["value"]?.arrayValue?.count == 3)
        #expect(large.headers["Preference-Applied"] == "maxpagesize=3")
        let none = try await service.get("Products", ["Prefer": "maxpagesize=0"])
        #expect(none.json["value"]?.arrayValue?.count == 3 && none.headers["Preference-Applied"] == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `top and skip count rows of the whole result`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.names("Products?$orderby=Name&$top=2") == ["Coffee Mug", "Gaming Mouse Ultra"])
        #expect(try await service.names("Products?$orderby=Name&$skip=5&$top=5") == ["Smartphone", "Wireless Mouse"])
        #expect(try await service.names("Products?$top=0").isEmpty)
        let order = try await service.names("Products?$orderby=Rating desc,Price desc&$top=3")
        #expect(order == ["Office Chair", "Laptop", "Wireless Mouse"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a count is a plain number of the filtered rows`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let all = try await service.get("Products/$count")
        #expect(all.text == "7" && all.headers["Content-Type"]?.hasPrefix("text/plain") == true)
        #expect(try await service.get("Products/$count?$filter=Price lt 100").text == "2")
        #expect(try await service.get("Products/$count?$search=Laptop").text == "2")
    }

    @Test(arguments: StoreKind.allCases)
    func `expanded entities have options of their own, on every level`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let one = try await service.get(
            "\(laptop)?$select=Name&$expand=Category($select=Name),Descriptions($filter=LanguageKey eq 'DE';$select=Description;$count=true)"
        )
        #expect(one.json["Category"]?["Name"] == "Electronics")
        #expect(one.json["Descriptions@odata.count"] == 1)
        #expect(one.json["Descriptions"]?.arrayValue?.first?["LanguageKey"] == "DE")
        let nested = try await service.rows(
            "Categories?$orderby=Name&$expand=Products($orderby=Price;$top=1;$select=Name;$expand=Descriptions($select=LanguageKey;$orderby=LanguageKey))"
        )
        let electronics = try #require(nested.first { $0["Name"] == "Electronics" }?["Products"]?.arrayValue)
        #expect(electronics.count == 1 && electronics[0]["Name"] == "Wireless Mouse")
        #expect(electronics[0]["Descriptions"]?.arrayValue?.map { $0["LanguageKey"] } == ["EN", "FR"])
        let references = try await service.get("\(laptop)?$expand=Descriptions/$ref")
        #expect(references.json["Descriptions"]?.arrayValue?.first?.members == ["@odata.id"])
    }

    @Test(arguments: StoreKind.allCases)
    func `selected properties come with the key, and computed ones under their names`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let row = try #require(
            try await service.rows("Products?$filter=Name eq 'Laptop'&$select=Name,Twice&$compute=Price mul 2 as Twice")
                .first)
        #expect(row.members.filter { !$0.contains("@") }.sorted() == ["ID", "Name", "Twice"])
        #expect(row["Twice"]?.doubleValue == 1999.98)
        #expect(row["ShippingAddress"] == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `grouped rows have their aggregates`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let rows = try await service.rows(
            "Products?$apply=filter(Price gt 20)/groupby((Category/Name),aggregate($count as N,Price with max as Most))&$orderby=N desc"
        )
        #expect(rows.first?["Category"]?["Name"] == "Electronics")
        #expect(rows.first?["N"] == 5 && rows.first?["Most"]?.doubleValue == 1999.99)
        #expect(rows.map { $0["N"]?.int64Value } == [5, 1])
    }

    @Test(arguments: StoreKind.allCases)
    func `an entity has a context, an identity and an entity tag that a condition meets`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let whole = try await service.get(laptop)
        #expect(whole.status == 200)
        #expect(whole.json["@odata.context"]?.stringValue?.hasSuffix("$metadata#Products/$entity") == true)
        #expect(whole.json["@odata.id"]?.stringValue == "https://portico.example/odata/v4/reference/\(laptop)")
        #expect(whole.json["@odata.type"] == "#ComplianceService.SpecialProduct")
        let tag = try #require(whole.headers["ETag"])
        #expect(whole.json["@odata.etag"]?.stringValue == tag)
        #expect(whole.headers["Vary"] == "Accept, OData-MaxVersion, Prefer")
        let unchanged = try await service.get(laptop, ["If-None-Match": "\"other\", \(tag)"])
        #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        #expect(try await service.get(laptop, ["If-None-Match": "\"other\""]).status == 200)
        #expect(try await service.get("$entity?$id=\(laptop)").json["Name"] == "Laptop")
    }

    @Test(arguments: StoreKind.allCases)
    func `a row of a result has the entity tag that its entity has by itself`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let rows = try await service.rows("Categories?$select=ID,Name")
        #expect(!rows.isEmpty)
        for row in rows {
            let id = try #require(row["ID"]?.stringValue)
            let entity = try await service.get("Categories(\(id))")
            #expect(row["@odata.etag"]?.stringValue == entity.headers["ETag"], "\(row) \(entity)")
            #expect(entity.headers["ETag"] != nil)
        }
        // What is counted or grouped is no entity.
        let grouped = try await service.rows("Products?$apply=groupby((CategoryID))")
        #expect(grouped.allSatisfy { $0["@odata.etag"] == nil })
    }

    @Test(arguments: StoreKind.allCases)
    func `metadata levels write as much control information as was asked for`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let path = "\(try await service.product("Wireless Mouse"))?$select=Name,Price,ReleaseDate"
        func controls(_ level: String) async throws -> Set<String> {
            let answer = try await service.get(path, ["Accept": "application/json;odata.metadata=\(level)"])
            #expect(answer.headers["Content-Type"]?.contains("odata.metadata=\(level)") == true)
            return answer.json.members.filter { $0.contains("@") }
        }
        #expect(try await controls("none").isEmpty)
        let minimal = try await controls("minimal")
        #expect(minimal == ["@odata.context", "@odata.id", "@odata.etag"])
        let full = try await controls("full")
        #expect(full.isSuperset(of: minimal))
        #expect(
            full.isSuperset(of: [
                "@odata.editLink", "@odata.type", "ReleaseDate@odata.type", "Category@odata.navigationLink",
            ]))
    }

    @Test(arguments: StoreKind.allCases)
    func `values are left out where the client wants none of them`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let path = "\(try await service.product("Smartphone"))?$select=Name,Rating,ReleaseDate"
        let nulls = try await service.get(path, ["Prefer": "omit-values=nulls"])
        #expect(nulls.json["ReleaseDate"] == nil && nulls.json["Rating"] == 0)
        #expect(nulls.headers["Preference-Applied"] == "omit-values=nulls")
        let defaults = try await service.get(path, ["Prefer": "omit-values=defaults"])
        #expect(defaults.json["Rating"] == nil && defaults.json["Name"] == "Smartphone")
        let old = try await service.get(path, ["Prefer": "omit-values=nulls", "OData-MaxVersion": "4.0"])
        #expect(old.json["ReleaseDate"] == .null && old.headers["OData-Version"] == "4.0")
    }

    @Test(arguments: StoreKind.allCases)
    func `large numbers are texts where the client asks for that`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let plain = try await service.get("DecimalSamples?$count=true")
        #expect(plain.json["@odata.count"] == 1)
        #expect(plain.json["value"]?.arrayValue?.first?["Amount"]?.decimalValue == WireDecimal("123.45"))
        let exact = try await service.get(
            "DecimalSamples?$count=true", ["Accept": "application/json;IEEE754Compatible=true"])
        #expect(exact.json["@odata.count"] == "1")
        #expect(exact.headers["Content-Type"]?.hasSuffix(";IEEE754Compatible=true") == true)
        #expect(plain.headers["Content-Type"]?.contains("IEEE754Compatible") == false)
        #expect(exact.json["value"]?.arrayValue?.first?["Amount"]?.stringValue?.hasPrefix("123.45") == true)
    }

    @Test(arguments: StoreKind.allCases)
    func `properties are had with a context, as plain text, and not at all where they are null`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let name = try await service.get("\(laptop)/Name")
        #expect(name.json["value"] == "Laptop")
        #expect(name.json["@odata.context"]?.stringValue?.hasSuffix("$metadata#\(laptop)/Name") == true)
        #expect(try await service.get("\(laptop)/Name/$value").text == "Laptop")
        #expect(try await service.get("\(laptop)/Price/$value").text == "999.99")
        let address = try await service.get("\(laptop)/ShippingAddress")
        let city = try #require(address.json["City"]?.stringValue)
        #expect(try await service.get("\(laptop)/ShippingAddress/City/$value").text == city)
        #expect(try await service.get("\(laptop)/Description").status == 204)
        #expect(try await service.get("\(laptop)/Description/$value").status == 204)
        #expect(try await service.get("\(laptop)/Nothing").status == 404)
    }

    @Test(arguments: StoreKind.allCases)
    func `a media entity's stream is its bytes under its own type`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let item = "MediaItems(\(try await service.key(of: "Sample Image", in: "MediaItems")))"
        let stream = try await service.get("\(item)/$value")
        #expect(stream.text == "fake-png-binary-data")
        #expect(stream.headers["Content-Type"] == "image/png")
        #expect(try await service.get(item).json["@odata.mediaContentType"] == "image/png")
        let changed = try await service.send(
            "PUT", "\(item)/$value", body: Array("new".utf8), headers: ["Content-Type": "text/plain"])
        #expect(changed.status == 204)
        #expect(try await service.get("\(item)/$value").text == "new")
    }

    @Test(arguments: StoreKind.allCases)
    func `a search finds whole words in the set's properties`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(
            try await service.names("Products?$orderby=Name&$search=mouse") == ["Gaming Mouse Ultra", "Wireless Mouse"])
        #expect(try await service.names("Products?$search=mouse NOT wireless") == ["Gaming Mouse Ultra"])
        #expect(
            try await service.names("Products?$orderby=Name&$search=mug OR chair") == ["Coffee Mug", "Office Chair"])
        #expect(try await service.names("Products?$search=\"wireless mouse\"") == ["Wireless Mouse"])
        #expect(try await service.get("Categories?$search=x").status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `several sets are joined, and all of them are read in one`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let joined = try await service.rows(
            "$crossjoin(Products,Categories)?$filter=Products/CategoryID eq Categories/ID and Products/Price lt 20&$expand=Products($select=Name),Categories($select=Name)"
        )
        #expect(joined.count == 1)
        #expect(joined[0]["Products"]?["Name"] == "Coffee Mug" && joined[0]["Categories"]?["Name"] == "Kitchen")
        let all = try await service.get("$all")
        #expect(all.status == 200)
        #expect(try await service.rows("$all/ComplianceService.Category").count == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `the documents say what the service has, and are not sent twice`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let list = try await service.get("")
        let names = list.json["value"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
        #expect(names.contains("Products") && names.contains("Company"))
        let tag = try #require(list.headers["ETag"])
        #expect(try await service.get("", ["If-None-Match": tag]).status == 304)
        let model = try await service.get("$metadata")
        #expect(
            model.headers["Content-Type"]?.hasPrefix("application/xml") == true && model.text.contains("<edmx:Edmx"))
        let json = try await service.get("$metadata", ["Accept": "application/json"])
        #expect(json.json["$Version"] == "4.01")
        #expect(
            try await service.get("$metadata?$format=json").json["$EntityContainer"] == "ComplianceService.Container")
    }

    @Test(arguments: StoreKind.allCases)
    func `a large result is streamed and is the same as one that is made whole`(kind: StoreKind) async throws {
        let streaming = try await ReferenceService(kind, limits: ["wholeBytes": 1_000])
        let path = "Products?$orderby=Name&$select=Name,Price,Description&$expand=Descriptions($select=Description)"
        let streamed = try await streaming.get(path, ["Accept": "application/json;odata.metadata=none"])
        #expect(streamed.isStream && streamed.body.count > 1_000)
        let whole = try await ReferenceService(kind)
        let answer = try await whole.get(path, ["Accept": "application/json;odata.metadata=none"])
        #expect(!answer.isStream)
        let names = { (answer: ServiceResponse) in answer.json["value"]?.arrayValue?.map { $0["Name"] } }
        #expect(names(answer)?.count == 7 && names(answer) == names(streamed))
        #expect(
            try await !streaming.get(
                "Categories?$top=1&$select=Name", ["Accept": "application/json;odata.metadata=none"]
            ).isStream)
    }

    @Test(arguments: StoreKind.allCases)
    func `a query may come in the body of a POST`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let options = Array("$filter=Price lt 20&$select=Name".utf8.map { $0 == 0x20 ? 0x2B : $0 })
        let answer = try await service.send(
            "POST", "Products/$query", body: options, headers: ["Content-Type": "text/plain; charset=utf-8"])
        #expect(answer.json["value"]?.arrayValue?.map { $0["Name"] } == ["Coffee Mug"])
        let typed = try await service.send(
            "POST", "Products/$query", body: options, headers: ["Content-Type": "text/html"])
        #expect(typed.status == 415)
        let bytes = try await service.send(
            "POST", "Products/$query", body: [0xFF], headers: ["Content-Type": "text/plain"])
        #expect(bytes.status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `a singleton is read and changed but neither posted nor deleted`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.get("Company").json["Name"] == "TechStore Inc.")
        #expect(try await service.send("PATCH", "Company", ["CEO": "Somebody Else"]).status == 204)
        #expect(try await service.get("Company/CEO/$value").text == "Somebody Else")
        let deleted = try await service.send("DELETE", "Company")
        #expect(deleted.status == 405 && deleted.headers["Allow"] == "GET, HEAD, PATCH, PUT, OPTIONS")
    }
}
