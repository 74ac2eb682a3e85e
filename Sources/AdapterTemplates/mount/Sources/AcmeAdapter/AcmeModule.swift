import AdapterKit

/// The adapter's name, what it offers, and how one is made.
public enum AcmeModule: AdapterModule {
    public static let name: AdapterName = "acme"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Acme", summary: "Greets.", version: "0.1.0", mounts: [Greeting.mount])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Acme() }
}

struct Acme: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
    }

    func handle(_ request: MountRequest) async throws -> MountResponse {
        try Greeting.answer(request)
    }
}
