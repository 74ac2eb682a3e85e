import AdapterKit

/// What the operations of the OData reference model do, which no model can say (docs/adapters/odata-reference.md). The
/// model's data is the OData adapter's, as every service's is.
public enum ODataReferenceModule: AdapterModule {
    public static let name: AdapterName = "odata-reference"

    public static let options = [
        ConfigurationOption(
            "seed", .string, summary: "The service's seed, a JSON document: `ResetAllPrices` takes the prices from it.")
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
