import AdapterKit
import Foundation
import WireFormats

/// The service's products and categories as the operations see them.
struct ProductCatalogue: Sendable {
    static let products = "Products"
    private static let categories = "Categories"
    /// Products that `GetRelatedProducts` gives at most.
    private static let related = 5
    /// Times that a change of a product is tried when another one came between.
    private static let attempts = 8

    let records: any RecordStore
    let entity: EntityName
    let price: FieldName
    let status: FieldName
    private let name: FieldName
    private let version: FieldName
    private let category: FieldName
    private let categoryEntity: EntityName
    private let categoryName: FieldName

    /// Throws `server.internal` for a service whose model is another one.
    init(_ service: any ServiceRecords) throws {
        func field(_ property: String, of set: String = Self.products) throws -> FieldName {
            guard let field = service.field(property, of: set) else { throw Self.otherModel }
            return field
        }
        guard let entity = service.entity(of: Self.products), let categories = service.entity(of: Self.categories)
        else { throw Self.otherModel }
        records = service.records
        self.entity = entity
        categoryEntity = categories
        price = try field("Price")
        status = try field("Status")
        name = try field("Name")
        version = try field("Version")
        category = try field("CategoryID")
        categoryName = try field("Name", of: Self.categories)
    }

    private static var otherModel: PorticoError {
        PorticoError(.serverInternal, "The service's model is not the reference model.")
    }

    func price(of product: Record) -> Double { product[price].number }

    func information(of product: Record, format: String) -> String {
        let price = String(format: "%.2f", price(of: product))
        return "Product: \(product[name].stringValue ?? "") (Price: \(price)) in \(format) format"
    }

    // MARK: Reading

    /// `GetTopProducts`: the dearest, of one category where one is named.
    func top(_ call: ServiceCall) async throws -> [RecordID] {
        let count = call.parameters.contains("count") ? call["count"].int64Value ?? 0 : 10
        guard count > 0 else { return [] }
        var filter: Filter?
        if let wanted = call["category"].stringValue {
            let named = try await records.query(
                Query(.compare(categoryName, .equal, .string(wanted))), in: categoryEntity)
            filter = .oneOf(category, named.records.map { .string($0.id.text) })
        }
        let limit = Int(min(count, Int64(Query.maximumLimit)))
        let order = [SortKey(price, descending: true)]
        return try await records.query(Query(filter, order: order, limit: limit), in: entity).records.map(\.id)
    }

    /// `FindProducts`
    func findProducts(_ call: ServiceCall) async throws -> [RecordID] {
        let filter = Filter.all([
            .containsText(name, call["name"].stringValue ?? ""),
            .compare(price, .lessOrEqual, .double(call["maxPrice"].number)),
        ])
        return try await all(filter).map(\.id)
    }

    func related(to product: Record) async throws -> [RecordID] {
        guard !product[category].isNull else { return [] }
        let page = try await records.query(
            Query(.compare(category, .equal, product[category]), limit: Self.related + 1), in: entity)
        return Array(page.records.map(\.id).filter { $0 != product.id }.prefix(Self.related))
    }

    func prices(_ filter: Filter?) async throws -> [Double] { try await all(filter).map { price(of: $0) } }

    private func all(_ filter: Filter?) async throws -> [Record] {
        var query = Query(filter, limit: Query.maximumLimit)
        var all: [Record] = []
        while true {
            let page = try await records.query(query, in: entity)
            all += page.records
            guard let next = page.next else { return all }
            query.start = .after(next)
        }
    }

    // MARK: Changing

    /// Sets fields of a product as it is at that time; its version grows by one.
    func change(
        _ product: Record, _ fields: (Record) -> [FieldName: WireValue]
    ) async throws -> RecordID {
        var current = product
        for attempt in 1...Self.attempts {
            do {
                _ = try await records.apply([change(of: current, to: fields(current))])
                return current.id
            } catch let error as PorticoError where error.code == .preconditionFailed && attempt < Self.attempts {
                guard let again = try await records.record(product.id, in: entity) else {
                    throw PorticoError(.recordNotFound, "The product is gone.")
                }
                current = again
            }
        }
        return current.id
    }

    /// New prices by name and old price; nil keeps one. Gives how many products there are that have one.
    func reprice(_ new: (String, Double) -> Double?) async throws -> Int {
        let changes = try await all(nil).compactMap { product in
            new(product[name].stringValue ?? "", price(of: product)).map { [price: WireValue.double($0)] }
                .map { change(of: product, to: $0) }
        }
        if !changes.isEmpty { _ = try await records.apply(changes) }
        return changes.count
    }

    private func change(of product: Record, to fields: [FieldName: WireValue]) -> RecordChange {
        var values = WireDictionary()
        for (field, value) in fields { values[field.text] = value }
        values[version.text] = .int64((product[version].int64Value ?? 0) + 1)
        return RecordChange(entity, .update(product.id, values), if: .revision(product.revision))
    }
}

/// The original prices of the seed's products by name, which is unique there.
struct SeedPrices: Sendable {
    let byName: [String: Double]

    /// Empty without a seed. Throws ``ConfigurationProblem`` for one that cannot be read.
    init(_ configuration: AdapterConfiguration) throws {
        guard let file = configuration["seed"]?.stringValue else {
            byName = [:]
            return
        }
        let path = file.hasPrefix("/") ? file : "\(configuration.directory)/\(file)"
        guard let data = FileManager.default.contents(atPath: path),
            let products = try? JSONFormat().read(Array(data))["Products"]?.arrayValue
        else { throw ConfigurationProblem("seed", "\(file) is no seed with products in it.") }
        var prices: [String: Double] = [:]
        for product in products {
            if let name = product["Name"]?.stringValue, let price = product["Price"] { prices[name] = price.number }
        }
        byName = prices
    }
}
