import AdapterKit
import Foundation
import WireFormats

/// What the products cost at first, by their names, which the seed has once each.
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
