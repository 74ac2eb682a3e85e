import AdapterKit
import Testing

/// The operations of the reference model, called as clients call them.
@Suite struct ReferenceOperationTests {
    private static let namespace = "ComplianceService"

    private func isNear(_ value: WireValue?, _ expected: Double) -> Bool {
        guard let value else { return false }
        let number = value.doubleValue ?? value.int64Value.map(Double.init) ?? .nan
        return abs(number - expected) < 0.005
    }

    @Test(arguments: StoreKind.allCases)
    func `functions over all products find, order and sum them up`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.names("GetTopProducts()").first == "Premium Laptop Pro")
        #expect(
            try await service.names("GetTopProducts(count=2,category='Electronics')") == [
                "Premium Laptop Pro", "Laptop",
            ])
        #expect(try await service.names("GetTopProducts(count=5,category='Kitchen')") == ["Coffee Mug"])
        #expect(try await service.names("GetTopProducts(count=0)") == [])
        #expect(try await service.names("FindProducts(name='Mouse',maxPrice=100)") == ["Wireless Mouse"])
        #expect(Set(try await service.names("FindProducts(name='Laptop',maxPrice=1999.99)")).count == 2)
        let statistics = try await service.get("GetProductStats()").json
        #expect(statistics["totalProducts"] == 7)
        #expect(isNear(statistics["maxPrice"], 1_999.99) && isNear(statistics["minPrice"], 15.5))
        #expect(isNear(statistics["averagePrice"], 606.49))
        let all = try await service.get("Products/\(Self.namespace).GetAveragePrice()")
        #expect(isNear(all.json["value"], 606.49), "\(all)")
        let some = try await service.get("Products/$filter(Price lt 20)/\(Self.namespace).GetAveragePrice()")
        #expect(some.status == 501, "\(some)")
        #expect(try await service.get("Convert(input='a')").json["value"] == "String: a")
        #expect(try await service.get("Convert(number=7)").json["value"] == "Number: 7")
        #expect(try await service.get("Calculate(a=9223372036854775807,b=1)").status == 400)
    }

    @Test(arguments: StoreKind.allCases)
    func `functions of one product tell of its price and its category`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let mug = try await service.product("Coffee Mug")
        func call(_ name: String) async throws -> WireValue? {
            try await service.get("\(mug)/\(Self.namespace).\(name)").json["value"]
        }
        #expect(isNear(try await call("GetTotalPrice(taxRate=0.1)"), 17.05))
        #expect(isNear(try await call("CalculatePrice(discount=10)"), 13.95))
        #expect(isNear(try await call("CalculatePrice(discount=10,tax=20)"), 16.74))
        #expect(try await call("GetInfo(format='short')") == "Product: Coffee Mug (Price: 15.50) in short format")
        let discount = try await service.send(
            "POST", "\(mug)/\(Self.namespace).CalculateDiscount", ["percentage": 20])
        #expect(isNear(discount.json["value"], 12.4), "\(discount)")
        #expect(try await service.names("\(mug)/\(Self.namespace).GetRelatedProducts()") == [])
        let laptop = try await service.product("Laptop")
        let related = try await service.names("\(laptop)/\(Self.namespace).GetRelatedProducts()")
        #expect(related.count == 4 && !related.contains("Laptop") && !related.contains("Coffee Mug"))
    }

    @Test(arguments: StoreKind.allCases)
    func `actions change one product, or all of them`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let chair = try await service.product("Office Chair")
        let before = try await service.get(chair).json["Version"]?.int64Value ?? 0
        #expect(
            try await service.send("POST", "\(chair)/\(Self.namespace).IncreasePrice", ["amount": 50]).status == 204)
        #expect(try await service.send("POST", "\(chair)/\(Self.namespace).Activate", [:]).status == 204)
        let changed = try await service.get(chair).json
        #expect(isNear(changed["Price"], 299.99) && changed["Status"] == "InStock")
        #expect(changed["Version"]?.int64Value == before + 2)
        let process = try await service.send("POST", "Process", ["percentage": 50, "minPrice": 500])
        #expect(process.status == 204, "\(process)")
        #expect(try await service.column("Price", of: "Products?$filter=Name eq 'Coffee Mug'") == [.double(15.5)])
        #expect(isNear(try await service.column("Price", of: "Products?$filter=Name eq 'Laptop'").first, 499.995))
        #expect(try await service.send("POST", "Process", ["percentage": 10]).status == 204)
        #expect(isNear(try await service.column("Price", of: "Products?$filter=Name eq 'Coffee Mug'").first, 13.95))
        let reset = try await service.send("POST", "ResetAllPrices", [:])
        #expect(reset.json["updatedCount"] == 7, "\(reset)")
        #expect(isNear(try await service.get(chair).json["Price"], 249.99))
        for nothing in ["ResetProducts", "Products/\(Self.namespace).MarkAllAsReviewed"] {
            #expect(try await service.send("POST", nothing, [:]).status == 204)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the seed is loaded anew`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await service.send("DELETE", service.product("Coffee Mug")).status == 204)
        #expect(try await service.names("Products").count == 6)
        let done = try await service.send("POST", "Reseed", [:])
        #expect(done.json["status"] == "success", "\(done)")
        #expect(try await service.names("Products").count == 7)
        #expect(try await service.names("Products?$filter=Name eq 'Coffee Mug'") == ["Coffee Mug"])
    }
}
