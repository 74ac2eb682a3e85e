import AdapterKit
import Synchronization

/// The adapter's name, what it offers, and how one is made.
public enum AcmeModule: AdapterModule {
    public static let name: AdapterName = "acme"

    /// `upstream`, `refresh` and what else says how the other system is mirrored.
    public static let options = MirrorSource.options

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        guard let mirror = try MirrorSource(Item.entity.name, configuration) else {
            throw ConfigurationProblem("upstream", "Name the other system here, and describe it below `upstreams`.")
        }
        return AdapterDeclaration(
            name: name, title: "Acme", summary: "Articles of another system.", version: "0.1.0",
            entities: [Item.entity], mirrors: [mirror])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Acme() }
}

final class Acme: Adapter {
    private let upstream = Mutex<(any Upstream)?>(nil)

    func start(_ context: AdapterContext) { upstream.withLock { $0 = context.upstream } }

    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let upstream = upstream.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The adapter has not started.", retryAfter: 1)
        }
        return try await ItemSource(upstream: upstream).page(request)
    }
}
