import AdapterKit
import Testing

/// What is refused, in which shape, and operations with what they are given.
@Suite struct ODataErrorTests {
    @Test(arguments: StoreKind.allCases)
    func `errors have a code, a message and the request's id`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let answer = try await service.get("Products?$filter=Nope eq 1", ["OData-MaxVersion": "4.0"])
        #expect(answer.status == 400)
        let error = try #require(answer.json["error"])
        #expect(error["code"] == "request.invalid" && answer.error.contains("Nope"))
        #expect(error["innererror"] == ["requestId": "r1"])
        #expect(answer.headers["OData-Version"] == "4.0" && answer.headers["Content-Language"] == "en")
        #expect(answer.headers["Content-Type"] == "application/json" && answer.headers["Vary"] != nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `options are refused where they mean nothing or name nothing`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let meaningless = [
            "\(laptop)?$filter=Price gt 1", "\(laptop)?$top=1", "\(laptop)?$skip=1", "\(laptop)?$orderby=Name",
            "\(laptop)?$count=true",
            "\(laptop)?$search=x", "$metadata?$top=1", "?$filter=Name eq 'x'", "Products?$id=Products",
            "Products?$index=1",
            "Products?$levels=2", "\(laptop)/Name?$select=Name", "\(laptop)/Name/$value?$format=json", "$all?$index=1",
            "Products/$count?$skiptoken=x", "Company?$filter=true", "\(laptop)/Category?$top=1",
            "Products/$ref?$select=Name", "Products?$top=-1", "Products?$skip=x", "Products?$count=maybe",
            "Products?$filter=",
            "Products?$orderby=Price sideways", "Products?$unknown=1", "Products?$top=1&$top=2",
            "Products?$schemaversion=9",
            "Products?$select=Nope", "Products?$expand=Nope", "Products?$orderby=Nope",
            "Products?$compute=Nope add 1 as N",
            "Products?$apply=aggregate(Nope with sum as N)", "Products?$filter=Name gt 5", "Products?$filter=Price",
            "Products('x')",
            "Products?$filter=Name eq 'open", "Products?$expand=Category($top=1)",
        ]
        for target in meaningless {
            let answer = try await service.get(target)
            #expect(answer.status == 400 || answer.status == 404, "\(target): \(answer)")
        }
        let unsupported = try await service.get("\(laptop)/ShippingAddress?$select=City")
        #expect(unsupported.status == 501)
    }

    @Test(arguments: StoreKind.allCases)
    func `paths that lead nowhere are not found, and methods that do not fit name those that do`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        for path in ["Nothing", "Products/Nothing", "Company/Nothing", "Products//$count", "$all/Nothing"] {
            let status = try await service.get(path).status
            #expect(status == 404 || status == 400, "\(path)")
        }
        let refused: [(String, String, String)] = [
            ("DELETE", "Products", "GET, HEAD, POST, PATCH, OPTIONS"),
            ("PUT", "Products", "GET, HEAD, POST, PATCH, OPTIONS"),
            ("POST", "$metadata", "GET, OPTIONS"), ("DELETE", "", "GET, OPTIONS"),
            ("POST", "Products/$count", "GET, OPTIONS"),
            ("POST", "Company", "GET, HEAD, PATCH, PUT, DELETE, OPTIONS"),
        ]
        for (method, path, allowed) in refused {
            let answer = try await service.send(method, path)
            #expect(answer.status == 405 && answer.headers["Allow"] == allowed, "\(method) \(path): \(answer.headers)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `versions and isolation that the service does not have are refused`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.get("Products", ["OData-MaxVersion": "3.0"]).status == 406)
        #expect(try await service.get("Products", ["OData-MaxVersion": "x"]).status == 406)
        #expect(try await service.get("Products", ["OData-MaxVersion": "4.0"]).headers["OData-Version"] == "4.0")
        #expect(try await service.get("Products", ["OData-MaxVersion": "5"]).headers["OData-Version"] == "4.01")
        #expect(
            try await service.send("POST", "Categories", ["Name": "x"], headers: ["OData-Version": "3.0"]).status == 400
        )
        #expect(try await service.get("Products", ["Isolation": "snapshot"]).status == 412)
        #expect(try await service.get("Products", ["OData-Isolation": "snapshot"]).status == 412)
        #expect(try await service.get("Products", ["Accept": "text/html"]).status == 406)
        #expect(try await service.get("Products?$format=xml").status == 406)
    }

    @Test(arguments: StoreKind.allCases)
    func `an address that nests too deeply or is too long is refused`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let deep = String(repeating: "(", count: 400) + "true" + String(repeating: ")", count: 400)
        let answer = try await service.get("Products?$filter=\(deep)")
        #expect(answer.status == 400 && answer.json["error"]?["code"] == "request.limitExceeded", "\(answer)")
        let long = Array(repeating: "Name eq 'x'", count: 3000).joined(separator: " or ")
        #expect(try await service.get("Products?$filter=\(long)").status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `operations take their overload's parameters and no others`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        #expect(try await service.get("Calculate(value=21)").json["value"] == 42)
        #expect(try await service.get("Calculate(a=3,b=4)").json["value"] == 7)
        #expect(try await service.get("Calculate()?a=3&b=4").json["value"] == 7)
        #expect(try await service.get("Calculate(a=@x,b=@y)?@x=3&@y=5").json["value"] == 8)
        #expect(try await service.get("Calculate(a=3)").status == 400)
        #expect(try await service.get("Calculate(value='x')").status == 400)
        #expect(try await service.get("Convert(input='x')").json["value"] == "String: x")
        #expect(
            try await service.rows("GetTopProducts(count=3)?$select=Name").map { $0["Name"] } == [
                "Premium Laptop Pro", "Laptop", "Smartphone",
            ])
        #expect(try await service.get("GetProductStats()").json["totalProducts"] == 7)
        #expect(
            try await service.get("\(laptop)/ComplianceService.GetTotalPrice(taxRate=1)").json["value"]?.doubleValue
                == 1999.98)
        #expect(
            try await service.get("Products/ComplianceService.GetAveragePrice()").json["value"]?.doubleValue ?? 0 > 500)
        let discount = try await service.send("POST", "\(laptop)/ComplianceService.ApplyDiscount", ["percentage": 50])
        #expect(discount.status == 200 && discount.json["Price"]?.doubleValue == 499.995, "\(discount)")
        #expect(
            try await service.send("POST", "\(laptop)/ComplianceService.IncreasePrice", ["amount": 5]).status == 204)
        for wrong in [[:], ["percentage": "much"], ["percentage": 1, "more": 2]] as [WireValue] {
            #expect(
                try await service.send("POST", "\(laptop)/ComplianceService.ApplyDiscount", wrong).status == 400,
                "\(wrong)")
        }
        #expect(try await service.get("\(laptop)/ComplianceService.ApplyDiscount").status == 405)
        #expect(try await service.send("POST", "Calculate(value=21)").status == 405)
        _ = try await service.send("POST", "Categories", ["Name": "Passing"])
        #expect(try await service.send("POST", "Reseed").status == 200)
        #expect(try await service.get("Categories/$count").text == "3")
    }

    @Test(arguments: StoreKind.allCases)
    func `an answer that is wanted later is fetched once it is there, by whoever asked for it`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        let accepted = try await service.get("Products?$top=2", ["Prefer": "respond-async"])
        #expect(accepted.status == 202 && accepted.headers["Preference-Applied"] == "respond-async")
        let monitor = try #require(accepted.headers["Location"])
        let answer = try await ended(monitor, service)
        #expect(answer.status == 200 && answer.headers["AsyncResult"] == "200")
        #expect(answer.json["value"]?.arrayValue?.count == 2)
        let whole = try await service.get(monitor, ["Accept": "application/http"])
        #expect(whole.headers["Content-Type"] == "application/http" && whole.text.hasPrefix("HTTP/1.1 200"))
        let other = Principal(kind: .user, id: "9", name: "other")
        #expect(try await service.send("GET", monitor, as: other).status == 404)
        #expect(try await service.send("POST", monitor).status == 405)
        #expect(try await service.send("DELETE", monitor).status == 204)
        #expect(try await service.get(monitor).status == 404)
        let failing = try await service.get("Nothing", ["Prefer": "respond-async"])
        let late = try #require(failing.headers["Location"], "\(failing)")
        let failed = try await ended(late, service)
        #expect(failed.headers["AsyncResult"] == "404", "\(failed)")
    }

    private func ended(_ monitor: String, _ service: ReferenceService) async throws -> ServiceResponse {
        while true {
            let answer = try await service.get(monitor)
            if answer.status != 202 { return answer }
            // The request under way may need this thread.
            await Task.yield()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a service for members is closed to strangers, and one of public reading to their writes`(kind: StoreKind)
        async throws
    {
        let member = Principal(kind: .user, id: "1", name: "ada")
        let closed = try await ReferenceService(kind, settings: ["access": "login"])
        #expect(try await closed.get("Products").status == 401)
        #expect(try await closed.send("GET", "Products", as: member).status == 200)
        let open = try await ReferenceService(kind, settings: ["access": "public-read"])
        #expect(try await open.get("Products").status == 200)
        #expect(try await open.send("POST", "Categories", ["Name": "x"]).status == 401)
        let batch = try await open.send(
            "POST", "$batch", ["requests": [["id": "1", "method": "POST", "url": "Categories", "body": ["Name": "x"]]]])
        #expect(batch.json["responses"]?.arrayValue?.first?["status"] == 401, "\(batch)")
    }
}
