import AdapterKit

/// Dispatches the reference model's operations by name.
struct ReferenceOperations: ServiceOperations {
    static let namespace = "ComplianceService"

    let prices: SeedPrices

    private enum Name: String, CaseIterable {
        case getTopProducts = "GetTopProducts"
        case findProducts = "FindProducts"
        case getProductStats = "GetProductStats"
        case calculate = "Calculate"
        case convert = "Convert"
        case getAveragePrice = "GetAveragePrice"
        case getTotalPrice = "GetTotalPrice"
        case calculatePrice = "CalculatePrice"
        case getRelatedProducts = "GetRelatedProducts"
        case getInfo = "GetInfo"
        case applyDiscount = "ApplyDiscount"
        case increasePrice = "IncreasePrice"
        case activate = "Activate"
        case calculateDiscount = "CalculateDiscount"
        case markAllAsReviewed = "MarkAllAsReviewed"
        case resetProducts = "ResetProducts"
        case resetAllPrices = "ResetAllPrices"
        case process = "Process"
        case reseed = "Reseed"
    }

    var names: Set<String> { Set(Name.allCases.map { "\(Self.namespace).\($0.rawValue)" }) }

    func perform(_ call: ServiceCall) async throws -> ServiceResult {
        guard let name = Name(rawValue: String(call.name.dropFirst(Self.namespace.count + 1))) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: call.name)
        }
        return try await perform(name, call)
    }

    private func perform(_ name: Name, _ call: ServiceCall) async throws -> ServiceResult {
        let catalogue = try ProductCatalogue(call.service)
        switch name {
        case .getTopProducts, .findProducts, .getProductStats, .getAveragePrice:
            return try await answer(name, call, catalogue)
        case .calculate: return .value(.int64(try Sums.calculate(call)))
        case .convert: return .value(.string(Sums.convert(call)))
        case .getTotalPrice, .calculatePrice, .getRelatedProducts, .getInfo, .calculateDiscount:
            return try await tell(name, try call.product, call, catalogue)
        case .applyDiscount, .increasePrice, .activate:
            return try await change(name, try call.product, call, catalogue)
        case .markAllAsReviewed, .resetProducts: return .nothing
        case .resetAllPrices, .process, .reseed: return try await changeAll(name, call, catalogue)
        }
    }

    /// Functions over all products.
    private func answer(
        _ name: Name, _ call: ServiceCall, _ catalogue: ProductCatalogue
    ) async throws -> ServiceResult {
        switch name {
        case .getTopProducts:
            return .records(set: ProductCatalogue.products, try await catalogue.top(call))
        case .findProducts:
            return .records(set: ProductCatalogue.products, try await catalogue.findProducts(call))
        case .getProductStats:
            return .value(.dictionary(ProductStatistics(prices: try await catalogue.prices(nil)).members))
        default:
            guard case .records(_, let filter) = call.binding else { return .nothing }
            return .value(.double(ProductStatistics(prices: try await catalogue.prices(filter)).average))
        }
    }

    /// Functions and an action that only tell something of one product.
    private func tell(
        _ name: Name, _ product: Record, _ call: ServiceCall, _ catalogue: ProductCatalogue
    ) async throws -> ServiceResult {
        let price = catalogue.price(of: product)
        switch name {
        case .getTotalPrice: return .value(.double(price * (1 + call["taxRate"].number)))
        case .calculatePrice:
            let discounted = price * (1 - call["discount"].number / 100)
            return .value(
                .double(call.parameters.contains("tax") ? discounted * (1 + call["tax"].number / 100) : discounted))
        case .calculateDiscount: return .value(.double(price * (1 - call["percentage"].number / 100)))
        case .getRelatedProducts:
            return .records(set: ProductCatalogue.products, try await catalogue.related(to: product))
        default: return .value(.string(catalogue.information(of: product, format: call["format"].stringValue ?? "")))
        }
    }

    /// Actions that change one product.
    private func change(
        _ name: Name, _ product: Record, _ call: ServiceCall, _ catalogue: ProductCatalogue
    ) async throws -> ServiceResult {
        let changed = try await catalogue.change(product) { product in
            switch name {
            case .applyDiscount:
                [catalogue.price: .double(catalogue.price(of: product) * (1 - call["percentage"].number / 100))]
            case .increasePrice: [catalogue.price: .double(catalogue.price(of: product) + call["amount"].number)]
            default: [catalogue.status: .int64(ProductStatus.activated(product[catalogue.status].int64Value ?? 0))]
            }
        }
        return name == .applyDiscount ? .record(set: ProductCatalogue.products, changed) : .nothing
    }

    /// Actions that change many.
    private func changeAll(
        _ name: Name, _ call: ServiceCall, _ catalogue: ProductCatalogue
    ) async throws -> ServiceResult {
        switch name {
        case .process:
            let least = call.parameters.contains("minPrice") ? call["minPrice"].number : -.infinity
            let factor = 1 - call["percentage"].number / 100
            _ = try await catalogue.reprice { _, price in price >= least ? price * factor : nil }
            return .nothing
        case .resetAllPrices:
            let count = try await catalogue.reprice { name, _ in prices.byName[name] }
            return .value(["message": "All prices are those of the seed again.", "updatedCount": .int64(Int64(count))])
        default:
            try await call.service.reseed()
            return .value(["status": "success", "message": "The seed is in again."])
        }
    }
}

extension ServiceCall {
    /// The one product that it is bound to.
    fileprivate var product: Record {
        get throws {
            guard case .record(_, let record) = binding else {
                throw PorticoError(.requestInvalid, "The operation is one of a product.")
            }
            return record
        }
    }
}

extension WireValue {
    /// A number of any kind; 0 for what is none, which the model does not let through.
    var number: Double {
        switch self {
        case .double(let number): number
        case .int64(let number): Double(number)
        default: 0
        }
    }
}

/// The flags of `ProductStatus` that an operation sets.
enum ProductStatus {
    private static let inStock: Int64 = 1
    private static let discontinued: Int64 = 4

    static func activated(_ status: Int64) -> Int64 { status & ~discontinued | inStock }
}

/// The operations of the OData reference model, which no CSDL document can describe (docs/adapters/odata-reference.md).
/// The model's data is the OData adapter's.
public enum ODataReferenceModule: AdapterModule {
    public static let name: AdapterName = "odata-reference"

    public static let options = [
        ConfigurationOption(
            "seed", .file, summary: "The service's seed, a JSON document: `ResetAllPrices` takes the prices from it.")
    ]

    public static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "OData reference", summary: "The operations of the OData reference model.",
            version: "1.0", entities: [], operations: [])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        ODataReferenceAdapter(prices: try SeedPrices(configuration))
    }
}

struct ODataReferenceAdapter: Adapter {
    let prices: SeedPrices

    var serviceOperations: [any ServiceOperations] { [ReferenceOperations(prices: prices)] }

    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
    }
}

/// Functions of numbers and texts alone.
enum Sums {
    /// `Calculate(value)` doubles, `Calculate(a,b)` adds. Throws `request.invalid` beyond 64 bits.
    static func calculate(_ call: ServiceCall) throws(PorticoError) -> Int64 {
        let isOne = call.parameters == ["value"]
        let left = call[isOne ? "value" : "a"].int64Value ?? 0
        let (sum, overflow) = left.addingReportingOverflow(isOne ? left : call["b"].int64Value ?? 0)
        guard !overflow else { throw PorticoError(.requestInvalid, "The result does not fit into 64 bits.") }
        return sum
    }

    static func convert(_ call: ServiceCall) -> String {
        if call.parameters == ["number"] { return "Number: \(call["number"].int64Value ?? 0)" }
        return "String: \(call["input"].stringValue ?? "")"
    }
}

/// The number of prices, and their height.
struct ProductStatistics {
    let prices: [Double]

    /// 0 where there are none, since the model's result has no null.
    var average: Double { prices.isEmpty ? 0 : prices.reduce(0, +) / Double(prices.count) }

    var members: WireDictionary {
        [
            "totalProducts": .int64(Int64(prices.count)), "averagePrice": .double(average),
            "maxPrice": .double(prices.max() ?? 0), "minPrice": .double(prices.min() ?? 0),
        ]
    }
}
