import AdapterKit

/// The adapter's name, what it offers, and how one is made.
public enum AcmeModule: AdapterModule {
    public static let name: AdapterName = "acme"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Acme", summary: "Things to be done.", version: "0.1.0", entities: [Item.entity])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Acme() }
}

/// Reading and writing records needs no code.
struct Acme: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [FrontPageEntry(title: "Acme", path: "/api/v1/acme/items", summary: "One's own things to be done.")]
    }
}
