import AdapterKit
import Synchronization

/// Fetches a provider's configuration and keys, one fetch for all who wait. While what is known is only due to be fetched
/// again, one caller does that, and the others go on with what is known: a slow provider delays nobody else.
final class ProviderDocuments: Sendable {
    private let settings: OpenIDConnectSettings
    private let upstream: any UpstreamClient
    private let clock: any WallClock
    private let knowledge: Mutex<ProviderKnowledge>
    private let turn = AsyncMutex(limit: 1000)
    private let isRefreshing = Mutex(false)

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
        switch knowledge.withLock({ $0.answer(now: clock.now(), isEnough) }) {
        case .known(let documents): return documents
        case .unavailable(let failure): throw failure
        case .fetch: return try await fetched(isEnough)
        case .refresh(let documents):
            let isFirst = isRefreshing.withLock { isRefreshing in
                defer { isRefreshing = true }
                return !isRefreshing
            }
            guard isFirst else { return documents }
            defer { isRefreshing.withLock { $0 = false } }
            return try await fetched(isEnough)
        }
    }

    private func fetched(_ isEnough: @escaping @Sendable (ProviderKnowledge.Documents) -> Bool) async throws
        -> ProviderKnowledge.Documents
    {
        try await turn.pass {
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
        case .fetch, .refresh: return nil
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
            keys: Array(keys.compactMap(ProviderKey.init).prefix(OpenIDConnectSettings.maximumKeys)))
    }

    private func json(_ address: UpstreamAddress) async throws -> ClaimValue {
        let request = UpstreamRequest(.get, address, fields: ["Accept": "application/json"])
        do throws(UpstreamFailure) {
            let response = try await upstream.send(request)
            guard response.status == 200, Self.isModest(response.body),
                let document = ClaimValue(json: response.body)
            else {
                throw UpstreamFailure(.broken, of: upstream.name, detail: "\(address.logged) is no document")
            }
            return document
        } catch {
            throw error.asError
        }
    }

    /// Looked at before it is decoded, which costs much for each value.
    private static func isModest(_ body: [UInt8]) -> Bool {
        guard body.count <= OpenIDConnectSettings.maximumDocument else { return false }
        let separators = body.reduce(0) { $0 + (",[{".utf8.contains($1) ? 1 : 0) }
        return separators <= OpenIDConnectSettings.maximumValues
    }

    private func broken(_ detail: String) -> PorticoError {
        UpstreamFailure(.broken, of: upstream.name, detail: detail).asError
    }
}
