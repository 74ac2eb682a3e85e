import AdapterKit
import Synchronization

/// Fetches a provider's configuration and keys, one fetch for all who wait.
final class ProviderDocuments: Sendable {
    private let settings: OpenIDConnectSettings
    private let upstream: any UpstreamClient
    private let clock: any WallClock
    private let knowledge: Mutex<ProviderKnowledge>
    private let turn = Turnstile(limit: 1000)

    init(_ settings: OpenIDConnectSettings, _ upstream: any UpstreamClient, clock: any WallClock) {
        self.settings = settings
        self.upstream = upstream
        self.clock = clock
        knowledge = Mutex(ProviderKnowledge(settings))
    }

    func configuration() async throws -> ProviderConfiguration {
        try await documents { _ in true }.configuration
    }

    /// The key for a token's header; nil where the provider has none. A header without a name means the only key there
    /// is of its kind.
    func key(_ id: String?, _ algorithm: OpenIDConnectSettings.Algorithm) async throws -> ProviderKey? {
        let keys = try await documents { $0.keys.contains { $0.fits(id, algorithm) } }.keys
        let fitting = keys.filter { $0.fits(id, algorithm) }
        return fitting.count == 1 ? fitting.first : nil
    }

    private func documents(_ isEnough: @escaping @Sendable (ProviderKnowledge.Documents) -> Bool) async throws
        -> ProviderKnowledge.Documents
    {
        if let known = try known(isEnough) { return known }
        return try await turn.pass {
            if let known = try self.known(isEnough) { return known }
            do {
                let fetched = try await self.fetch()
                self.knowledge.withLock { $0.note(fetched, now: self.clock.now()) }
                return fetched
            } catch let error as PorticoError {
                guard let old = self.knowledge.withLock({ $0.note(error, now: self.clock.now()) }) else { throw error }
                return old
            }
        }
    }

    private func known(_ isEnough: (ProviderKnowledge.Documents) -> Bool) throws -> ProviderKnowledge.Documents? {
        switch knowledge.withLock({ $0.answer(now: clock.now(), isEnough) }) {
        case .known(let documents): return documents
        case .fetch: return nil
        case .unavailable(let failure): throw failure
        }
    }

    private func fetch() async throws -> ProviderKnowledge.Documents {
        let base =
            settings.issuer.target.hasSuffix("/") ? settings.issuer.target.dropLast() : settings.issuer.target[...]
        guard let place = settings.issuer.at(path: base + "/.well-known/openid-configuration"),
            let configuration = ProviderConfiguration(try await json(place), settings)
        else { throw broken("its configuration is not what it must be") }
        guard case .list(let keys) = try await json(configuration.keys)["keys"] else { throw broken("it has no keys") }
        return ProviderKnowledge.Documents(
            configuration: configuration,
            keys: keys.prefix(OpenIDConnectSettings.maximumKeys).compactMap(ProviderKey.init))
    }

    private func json(_ address: UpstreamAddress) async throws -> ClaimValue {
        let request = UpstreamRequest(.get, address, fields: ["Accept": "application/json"])
        do throws(UpstreamFailure) {
            let response = try await upstream.send(request)
            guard response.status == 200, let document = ClaimValue(json: response.body) else {
                throw UpstreamFailure(.broken, of: upstream.name, detail: "\(address.logged) is no document")
            }
            return document
        } catch {
            throw error.asError
        }
    }

    private func broken(_ detail: String) -> PorticoError {
        UpstreamFailure(.broken, of: upstream.name, detail: detail).asError
    }
}
