// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
// Not here, because the client has no types for it: Product.Location, Product.Route, Product.Area, Product.Photo, SpecialProduct.Location, SpecialProduct.Route, SpecialProduct.Area, SpecialProduct.Photo.
import Client
import Foundation

public struct ReferenceService: Sendable {
    public let connection: ODataConnection

    public init(_ carrier: any ODataCarrier, at root: [String] = ["odata", "v4", "reference"], version: ODataVersion = .v4) {
        connection = ODataConnection(carrier, root: root, version: version)
    }

    public var products: ODataSet<Product> { ODataSet(connection, "Products") }
    public var categories: ODataSet<Category> { ODataSet(connection, "Categories") }
    public var productDescriptions: ODataSet<ProductDescription> { ODataSet(connection, "ProductDescriptions") }
    public var mediaItems: ODataSet<MediaItem> { ODataSet(connection, "MediaItems") }
    public var readOnlyItems: ODataSet<ReadOnlyItem> { ODataSet(connection, "ReadOnlyItems") }
    public var decimalSamples: ODataSet<DecimalSample> { ODataSet(connection, "DecimalSamples") }
    public var company: ODataSingleton<CompanyInfo> { ODataSingleton(connection, "Company") }

    public func getTopProducts() async throws -> [Product] {
        try await connection.operation(.function, "GetTopProducts").structures()
    }

    public func getTopProducts(count: Int64) async throws -> [Product] {
        try await connection.operation(.function, "GetTopProducts").with("count", count).structures()
    }

    public func getTopProducts(count: Int64, category: String) async throws -> [Product] {
        try await connection.operation(.function, "GetTopProducts").with("count", count).with("category", category).structures()
    }

    public func getProductStats() async throws -> ProductStats? {
        try await connection.operation(.function, "GetProductStats").structure()
    }

    public func findProducts(name: String, maxPrice: Double) async throws -> [Product] {
        try await connection.operation(.function, "FindProducts").with("name", name).with("maxPrice", maxPrice).structures()
    }

    public func calculate(value: Int64) async throws -> Int64? {
        try await connection.operation(.function, "Calculate").with("value", value).value()
    }

    public func calculate(a: Int64, b: Int64) async throws -> Int64? {
        try await connection.operation(.function, "Calculate").with("a", a).with("b", b).value()
    }

    public func convert(input: String) async throws -> String? {
        try await connection.operation(.function, "Convert").with("input", input).value()
    }

    public func convert(number: Int64) async throws -> String? {
        try await connection.operation(.function, "Convert").with("number", number).value()
    }

    public func resetAllPrices() async throws -> PriceResetResult? {
        try await connection.operation(.action, "ResetAllPrices").structure()
    }

    public func resetProducts() async throws {
        try await connection.operation(.action, "ResetProducts").perform()
    }

    public func process(percentage: Double) async throws {
        try await connection.operation(.action, "Process").with("percentage", percentage).perform()
    }

    public func process(percentage: Double, minPrice: Double) async throws {
        try await connection.operation(.action, "Process").with("percentage", percentage).with("minPrice", minPrice).perform()
    }

    public func reseed() async throws -> ReseedResult? {
        try await connection.operation(.action, "Reseed").structure()
    }

    public func activate(on entity: Product) async throws {
        try await products.operation(.action, "ComplianceService.Activate", on: entity).perform()
    }

    public func applyDiscount(on entity: Product, percentage: Double) async throws -> Product? {
        try await products.operation(.action, "ComplianceService.ApplyDiscount", on: entity).with("percentage", percentage).structure()
    }

    public func calculateDiscount(on entity: Product, percentage: Double) async throws -> Double? {
        try await products.operation(.action, "ComplianceService.CalculateDiscount", on: entity).with("percentage", percentage).value()
    }

    public func calculatePrice(on entity: Product, discount: Double) async throws -> Double? {
        try await products.operation(.function, "ComplianceService.CalculatePrice", on: entity).with("discount", discount).value()
    }

    public func calculatePrice(on entity: Product, discount: Double, tax: Double) async throws -> Double? {
        try await products.operation(.function, "ComplianceService.CalculatePrice", on: entity).with("discount", discount).with("tax", tax).value()
    }

    public func getAveragePrice(of set: ODataSet<Product>) async throws -> Double? {
        try await set.operation(.function, "ComplianceService.GetAveragePrice").value()
    }

    public func getInfo(on entity: Product, format: String) async throws -> String? {
        try await products.operation(.function, "ComplianceService.GetInfo", on: entity).with("format", format).value()
    }

    public func getRelatedProducts(on entity: Product) async throws -> [Product] {
        try await products.operation(.function, "ComplianceService.GetRelatedProducts", on: entity).structures()
    }

    public func getTotalPrice(on entity: Product, taxRate: Double) async throws -> Double? {
        try await products.operation(.function, "ComplianceService.GetTotalPrice", on: entity).with("taxRate", taxRate).value()
    }

    public func increasePrice(on entity: Product, amount: Double) async throws {
        try await products.operation(.action, "ComplianceService.IncreasePrice", on: entity).with("amount", amount).perform()
    }

    public func markAllAsReviewed(of set: ODataSet<Product>) async throws {
        try await set.operation(.action, "ComplianceService.MarkAllAsReviewed").perform()
    }
}
