import AdapterKit
import Foundation
import Testing

/// OData 2.0: Atom and JSON, literals, links, errors.
@Suite struct Version2Tests {
    private func d(_ service: ReferenceService, _ target: String) async throws -> WireValue {
        let answer = try await service.get(target, ["Accept": "application/json"], root: ReferenceService.version2)
        return try #require(answer.json["d"], "\(answer)")
    }

    private func send(
        _ service: ReferenceService, _ method: String, _ target: String, _ value: WireValue,
        _ headers: MountHeaders = [:]
    ) async throws -> ServiceResponse {
        var headers = headers
        headers["Accept"] = "application/json"
        return try await service.send(method, target, value, headers: headers, root: ReferenceService.version2)
    }

    private func rows(_ service: ReferenceService, _ target: String) async throws -> [WireValue] {
        try #require(try await d(service, target)["results"]?.arrayValue)
    }

    private func path(_ service: ReferenceService, _ name: String) async throws -> String {
        "Products(guid'\(try await service.key(of: name, in: "Products"))')"
    }

    @Test(arguments: StoreKind.allCases)
    func `Atom is the default and JSON is had by header and by option`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let atom = try await service.get("Products?$orderby=Name&$top=2", root: ReferenceService.version2)
        #expect(atom.headers["Content-Type"]?.hasPrefix("application/atom+xml") == true)
        #expect(atom.headers["DataServiceVersion"]?.hasPrefix("2.0") == true)
        #expect(atom.text.components(separatedBy: "<entry").count == 3)
        #expect(atom.text.contains("<d:Name>Coffee Mug</d:Name>"), "\(atom.text.prefix(3000))")
        #expect(atom.text.contains("<d:Price m:type=\"Edm.Double\">15.5</d:Price>"))
        #expect(atom.text.contains("m:null=\"true\"") && atom.text.hasSuffix("</feed>"))
        #expect(atom.text.contains("<id>https://portico.example/odata/v2/reference/Products(guid'"))
        #expect(atom.text.contains("term=\"ComplianceService.Product\"") && atom.text.contains("rel=\"edit\""))
        #expect(atom.text.contains("title=\"Category\"") && !atom.text.contains("<m:inline>"))
        let expanded = try await service.get(
            "Categories?$filter=Name eq 'Kitchen'&$expand=Products", root: ReferenceService.version2)
        #expect(
            expanded.text.contains("<m:inline><feed><id>https://portico.example/odata/v2/reference/Categories(guid'"))
        #expect(expanded.text.contains("/Products</id><title type=\"text\">Products</title>"))
        #expect(
            expanded.text.contains("<d:Name>Coffee Mug</d:Name>") && expanded.text.contains("</feed></m:inline></link>")
        )
        let json = try await service.get("Products?$top=1&$format=json", root: ReferenceService.version2)
        #expect(json.json["d"]?["results"]?.arrayValue?.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry says what it is and where the rest is`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await d(service, try await path(service, "Laptop"))
        let control = try #require(laptop["__metadata"])
        #expect(control["type"] == "ComplianceService.SpecialProduct")
        let uri = try #require(control["uri"]?.stringValue)
        #expect(uri.hasPrefix("https://portico.example/odata/v2/reference/Products(guid'"))
        #expect(control["etag"] != nil)
        #expect(laptop["Category"]?["__deferred"]?["uri"]?.stringValue == uri + "/Category")
        #expect(laptop["ReleaseDate"]?.stringValue?.hasPrefix("/Date(") == true)
        #expect(laptop["Price"]?.doubleValue == 999.99)
        #expect(laptop["ShippingAddress"]?["City"] != nil)
        #expect(laptop["ShippingAddress"]?["__metadata"] == ["type": "ComplianceService.Address"])
    }

    @Test(arguments: StoreKind.allCases)
    func `literals and functions of version 2 mean their values`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let expected: [(String, [String])] = [
            ("Price eq 15.5d", ["Coffee Mug"]), ("Price lt 20 and Price gt 1.2f", ["Coffee Mug"]),
            ("substringof('Mouse',Name)", ["Gaming Mouse Ultra", "Wireless Mouse"]),
            ("substringof('Mouse',Name) eq true", ["Gaming Mouse Ultra", "Wireless Mouse"]),
            ("startswith(Name,'Coffee')", ["Coffee Mug"]), ("ReleaseDate eq datetime'2024-01-15T00:00:00'", ["Laptop"]),
            ("OpenTime eq time'PT9H30M'", ["Laptop"]),
            ("Rating eq 110 or Rating eq 255", ["Office Chair", "Wireless Mouse"]),
            ("Category/Name eq 'Kitchen'", ["Coffee Mug"]), ("Data eq X'010203'", ["Wireless Mouse"]),
            ("length(Name) eq 6", ["Laptop"]), ("tolower(Name) eq 'laptop'", ["Laptop"]),
        ]
        for (filter, names) in expected {
            let found = try await rows(service, "Products?$orderby=Name&$filter=\(filter)").compactMap {
                $0["Name"]?.stringValue
            }
            #expect(found == names, "\(filter)")
        }
        for wrong in ["Name eq", "Nothing eq 1", "Name eq 5", "contains(Name,'a')", "Price gt 1x"] {
            let answer = try await service.get(
                "Products?$filter=\(wrong)", ["Accept": "application/json"], root: ReferenceService.version2)
            #expect(answer.status == 400, "\(wrong)")
            #expect(answer.json["error"]?["message"]?["value"]?.stringValue?.isEmpty == false)
            let atom = try await service.get("Products?$filter=\(wrong)", root: ReferenceService.version2)
            #expect(
                atom.text.contains("<error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">"))
            #expect(atom.text.contains("<code>request.invalid</code><message xml:lang="), "\(atom)")
            #expect(atom.text.contains("<transactionid>r1</transactionid>") && atom.text.hasSuffix("</error>"))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `counts are texts, and pages are linked`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, settings: ["pageSize": 3])
        let page = try await d(service, "Products?$inlinecount=allpages&$select=Name")
        #expect(page["__count"] == "7" && page["results"]?.arrayValue?.count == 3)
        #expect(try await d(service, "Products?$inlinecount=none")["__count"] == nil)
        var (seen, link) = (Set<String>(), page["__next"]?.stringValue)
        seen.formUnion(page["results"]?.arrayValue?.compactMap { $0["Name"]?.stringValue } ?? [])
        while let next = link {
            let answer = try await service.get(next, ["Accept": "application/json"]).json["d"]
            seen.formUnion(answer?["results"]?.arrayValue?.compactMap { $0["Name"]?.stringValue } ?? [])
            link = answer?["__next"]?.stringValue
        }
        #expect(seen.count == 7)
        let count = try await service.get("Products/$count?$filter=Price lt 100", root: ReferenceService.version2)
        #expect(count.text == "2")
    }

    @Test(arguments: StoreKind.allCases)
    func `expansions are paths and selections go through them`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await d(
            service,
            "\(try await path(service, "Laptop"))?$expand=Category,Descriptions&$select=Name,Category/Name,Descriptions"
        )
        #expect(laptop.members.subtracting(["__metadata"]) == ["Name", "Category", "Descriptions"])
        #expect(laptop["Category"]?.members.subtracting(["__metadata"]) == ["Name"])
        #expect(laptop["Descriptions"]?["results"]?.arrayValue?.count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `properties, values and links are had by themselves`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await path(service, "Laptop")
        #expect(try await d(service, "\(laptop)/Name") == ["Name": "Laptop"])
        #expect(try await service.get("\(laptop)/Price/$value", root: ReferenceService.version2).text == "999.99")
        #expect(try await service.get("\(laptop)/Description/$value", root: ReferenceService.version2).status == 404)
        #expect(
            try await d(service, "\(laptop)/$links/Category")["uri"]?.stringValue?.contains("/Categories(guid'") == true
        )
        let links = try await d(service, "\(laptop)/$links/Descriptions")["results"]?.arrayValue
        #expect(links?.count == 2)
        let tag = try #require(try await service.get(laptop, root: ReferenceService.version2).headers["ETag"])
        let unchanged = try await service.get(laptop, ["If-None-Match": tag], root: ReferenceService.version2)
        #expect(unchanged.status == 304)
    }

    @Test(arguments: StoreKind.allCases)
    func `entries are created, merged, replaced and deleted`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let made = try await send(
            service, "POST", "Products",
            ["Name": "Kite", "Price": "9.5", "ReleaseDate": "/Date(946684800000)/", "OpenTime": "PT9H", "Data": "AQID"])
        #expect(made.status == 201, "\(made)")
        let entry = try #require(made.json["d"])
        #expect(entry["Price"]?.doubleValue == 9.5 && entry["ReleaseDate"] == "/Date(946684800000)/")
        #expect(try await service.get("Products?$filter=OpenTime eq 09:00:00").json["value"]?.arrayValue?.count == 1)
        let address = try #require(made.headers["Location"])
        #expect(entry["__metadata"]?["uri"]?.stringValue == address)
        let wrapped = try await send(service, "POST", "Categories", ["d": ["Name": "Wrapped"]])
        #expect(wrapped.status == 201 && wrapped.json["d"]?["Name"] == "Wrapped", "\(wrapped)")
        #expect(try await send(service, "MERGE", address, ["Price": "8"]).status == 204)
        #expect(try await send(service, "PUT", address, ["Name": "Kite", "Price": "7"]).status == 204)
        let now = try await service.get(address, ["Accept": "application/json"]).json["d"]
        #expect(now?["Price"]?.doubleValue == 7 && now?["ReleaseDate"] == .null)
        #expect(try await send(service, "MERGE", address, ["Price": "8"], ["If-Match": "W/\"other\""]).status == 412)
        let tunnelled = try await send(service, "POST", address, ["Price": "6"], ["X-HTTP-Method": "MERGE"])
        #expect(tunnelled.status == 204 || tunnelled.status == 405, "\(tunnelled)")
        #expect(try await service.send("DELETE", address).status == 204)
        #expect(try await service.get(address).status == 404)
        let message = try await send(service, "POST", "Products", ["Name": "Told", "Price": "1", "Version": 44])
        #expect(message.headers["sap-message"]?.contains("Version") == true, "\(message.headers)")
    }

    @Test(arguments: StoreKind.allCases)
    func `Atom entries are read as they are written`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let source = try await service.get(
            "Categories?$filter=Name eq 'Kitchen'", ["Accept": "application/atom+xml"], root: ReferenceService.version2)
        let start = try #require(source.text.range(of: "<entry"))
        let end = try #require(source.text.range(of: "</entry>"))
        let namespaces =
            "<entry xmlns=\"http://www.w3.org/2005/Atom\" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" "
        let entry =
            namespaces
            + source.text[start.upperBound..<end.upperBound].drop { $0 == " " }.replacingOccurrences(
                of: "Kitchen",
                with: "Garden & <more>".replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(
                    of: "<", with: "&lt;"))
        let made = try await service.send(
            "POST", "Categories", body: Array(entry.utf8), headers: ["Content-Type": "application/atom+xml;type=entry"],
            root: ReferenceService.version2)
        #expect(made.status == 201, "\(made)\n\(entry)")
        #expect(try await service.names("Categories?$filter=startswith(Name,'Garden')") == ["Garden & <more>"])
        let broken = try await service.send(
            "POST", "Categories", body: Array("<entry".utf8), headers: ["Content-Type": "application/atom+xml"],
            root: ReferenceService.version2)
        #expect(broken.status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `sets have SAP's names too, and SAP's search`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        for name in ["Products", "ProductsCollection", "ProductCollection"] {
            #expect(try await rows(service, name).count == 7, "\(name)")
        }
        let found = try await rows(service, "Products?search=mouse%20wireless")
        #expect(found.map { $0["Name"] } == ["Wireless Mouse"])
        #expect(try await rows(service, "Products?search=").count == 7)
        let unknown = try await service.get("NothingCollection", root: ReferenceService.version2)
        #expect(unknown.status == 404)
    }

    @Test(arguments: StoreKind.allCases)
    func `complex values come and go in Atom`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let entry = """
            <entry xmlns="http://www.w3.org/2005/Atom" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
              xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
              <category term="ComplianceService.SpecialProduct" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme"/>
              <content type="application/xml"><m:properties><d:Name>Tent</d:Name><d:Price m:type="Edm.Double">12.5</d:Price>
                <d:SpecialFeature>Dry</d:SpecialFeature><d:Description m:null="true"/>
                <d:ShippingAddress m:type="ComplianceService.Address"><d:City>Oslo</d:City></d:ShippingAddress>
              </m:properties></content></entry>
            """
        let made = try await service.send(
            "POST", "Products", body: Array(entry.utf8), headers: ["Content-Type": "application/atom+xml"],
            root: ReferenceService.version2)
        #expect(made.status == 201, "\(made)")
        let row = try #require(try await service.rows("Products?$filter=Name eq 'Tent'").first)
        #expect(row["ShippingAddress"]?["City"] == "Oslo" && row["ShippingAddress"]?["@odata.type"] == nil)
        #expect(row["@odata.type"] == "#ComplianceService.SpecialProduct" && row["SpecialFeature"] == "Dry")
        #expect(row["Description"] == .null && row["Price"]?.doubleValue == 12.5)
        let wrong = entry.replacingOccurrences(of: "<d:City>Oslo</d:City>", with: "<d:Nothing>x</d:Nothing>")
        let refused = try await service.send(
            "POST", "Products", body: Array(wrong.utf8), headers: ["Content-Type": "application/atom+xml"],
            root: ReferenceService.version2)
        #expect(refused.status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `the documents are those of version 2, at every root`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        for root in [
            ReferenceService.version2, "/sap/opu/odata/sap/ComplianceService/", "/sap/opu/sdata/sap/ComplianceService/",
        ] {
            let model = try await service.get("$metadata", root: root)
            #expect(model.status == 200 && model.text.contains("DataServiceVersion=\"2.0\""), "\(root) \(model)")
            #expect(model.text.contains("sap:"))
            let list = try await service.get("", ["Accept": "application/json"], root: root)
            #expect(list.json["d"]?["EntitySets"]?.arrayValue?.contains("Products") == true)
            let atom = try await service.get("", root: root)
            #expect(atom.text.contains("<collection") || atom.text.contains(":collection"), "\(atom)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `functions are called with their arguments in the address`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let sum = try await service.get("Calculate?a=3L&b=4L&$format=json", root: ReferenceService.version2)
        #expect(sum.json["d"]?["Calculate"]?.stringValue == "7", "\(sum)")
        let top = try await rows(service, "GetTopProducts?count=3L")
        #expect(top.count == 3 && top[0]["Name"] == "Premium Laptop Pro")
        let wrong = try await service.get("Calculate?a='x'&b=4L", root: ReferenceService.version2)
        #expect(wrong.status == 400)
    }
}
