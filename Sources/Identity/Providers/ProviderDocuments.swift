import AdapterKit
import Foundation
import JWTKit
import Synchronization

/// Fetches a provider's configuration and keys, one fetch for all who wait. While what is known is only due to be fetched
/// again, one caller does that, and the others go on with what is known: a slow provider delays no other sign-in.
final class ProviderDocuments: Sendable {
    private let settings: OpenIDConnectSettings
    private let upstream: any Upstream
    private let clock: any WallClock
    private let cache: Mutex<ProviderDocumentCache>
    private let turn = AsyncMutex(limit: 1000)
    private let isRefreshing = Mutex(false)

    init(_ settings: OpenIDConnectSettings, _ upstream: any Upstream, clock: any WallClock) {
        self.settings = settings
        self.upstream = upstream
        self.clock = clock
        cache = Mutex(ProviderDocumentCache(settings))
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

    private func documents(_ isEnough: @escaping @Sendable (ProviderDocumentCache.Documents) -> Bool) async throws
        -> ProviderDocumentCache.Documents
    {
        switch cache.withLock({ $0.lookUp(now: clock.now(), isEnough) }) {
        case .known(let documents): return documents
        case .unavailable(let failure): throw failure
        case .fetch: return try await fetchDocuments(isEnough)
        case .refresh(let documents):
            let isFirst = isRefreshing.withLock { isRefreshing in
                defer { isRefreshing = true }
                return !isRefreshing
            }
            guard isFirst else { return documents }
            defer { isRefreshing.withLock { $0 = false } }
            return try await fetchDocuments(isEnough)
        }
    }

    private func fetchDocuments(_ isEnough: @escaping @Sendable (ProviderDocumentCache.Documents) -> Bool) async throws
        -> ProviderDocumentCache.Documents
    {
        try await turn.pass {
            if let known = try self.knownDocuments(isEnough) { return known }
            do {
                let fetched = try await self.fetch()
                self.cache.withLock { $0.note(fetched, now: self.clock.now()) }
                return fetched
            } catch let error as PorticoError {
                guard let old = self.cache.withLock({ $0.note(error, now: self.clock.now()) }) else { throw error }
                return old
            }
        }
    }

    private func knownDocuments(_ isEnough: (ProviderDocumentCache.Documents) -> Bool) throws -> ProviderDocumentCache
        .Documents?
    {
        switch cache.withLock({ $0.lookUp(now: clock.now(), isEnough) }) {
        case .known(let documents): return documents
        case .fetch, .refresh: return nil
        case .unavailable(let failure): throw failure
        }
    }

    private func fetch() async throws -> ProviderDocumentCache.Documents {
        let base =
            settings.issuer.target.hasSuffix("/") ? settings.issuer.target.dropLast() : settings.issuer.target[...]
        guard let place = settings.issuer.at(path: base + "/.well-known/openid-configuration"),
            let configuration = ProviderConfiguration(try await json(place), settings)
        else { throw broken("its configuration is not what it must be") }
        guard case .list(let keys) = try await json(configuration.keys)["keys"] else { throw broken("it has no keys") }
        return ProviderDocumentCache.Documents(
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

/// The documents of a provider, and when they are fetched anew. A state machine; ``ProviderDocuments`` fetches.
///
/// A key that is not known may have been published a moment ago, so it is a reason to fetch; but any client can send an
/// unknown key into a token, so it is one only now and then.
struct ProviderDocumentCache: Sendable {
    struct Documents: Sendable {
        let configuration: ProviderConfiguration
        let keys: [ProviderKey]
    }

    enum Answer: Sendable {
        case known(Documents)
        /// Due to be fetched; callers that cannot wait may use them meanwhile.
        case refresh(Documents)
        case fetch
        /// Nothing is known, and it was tried a moment ago.
        case unavailable(PorticoError)
    }

    /// Times longer than it is believed that a document is used while the provider cannot be reached.
    static let idleTimeout = 24
    /// Between two tries of a provider of which nothing is known.
    static let pause = Duration.seconds(5)

    let refresh: Duration
    let refetch: Duration
    private var documents: Documents?
    private var fetched = WireDate(secondsSince1970: 0)
    private var tried = WireDate(secondsSince1970: 0)
    private var failure: PorticoError?

    init(_ settings: OpenIDConnectSettings) {
        refresh = settings.refresh
        refetch = settings.refetch
    }

    /// `isEnough`: whether what is known answers the question that is asked.
    func lookUp(now: WireDate, _ isEnough: (Documents) -> Bool) -> Answer {
        guard let documents else {
            guard let failure, now - tried < Self.pause else { return .fetch }
            return .unavailable(failure)
        }
        let mayTry = now - tried >= refetch
        let isFresh = now - fetched < refresh
        if isFresh, isEnough(documents) || !mayTry { return .known(documents) }
        let isUsable = now - fetched < refresh * Self.idleTimeout
        guard mayTry else { return isUsable ? .known(documents) : failure.map { .unavailable($0) } ?? .fetch }
        return isUsable && isEnough(documents) ? .refresh(documents) : .fetch
    }

    mutating func note(_ documents: Documents, now: WireDate) {
        self.documents = documents
        fetched = now
        tried = now
        failure = nil
    }

    /// The documents that are known, if they are not too old; otherwise nil, and the failure counts.
    mutating func note(_ failure: PorticoError, now: WireDate) -> Documents? {
        tried = now
        self.failure = failure
        if now - fetched >= refresh * Self.idleTimeout { documents = nil }
        return documents
    }
}

/// A provider's statements about itself (OpenID Connect Discovery 1.0, section 3), as far as they are used.
struct ProviderConfiguration: Sendable {
    let authorization: UpstreamAddress
    let token: UpstreamAddress
    let keys: UpstreamAddress
    /// Whether its answers name it (RFC 9207), so that one without a name is refused.
    let namesItself: Bool
    /// Whether the client's secret goes into a header field, which is the default, or into the form.
    let takesBasic: Bool

    /// Nil for a document that is not this issuer's, or whose addresses a browser or we cannot use.
    init?(_ document: ClaimValue, _ settings: OpenIDConnectSettings) {
        guard document["issuer"]?.text == settings.issuerText,
            let authorization = Self.address(document, "authorization_endpoint", settings),
            let token = Self.address(document, "token_endpoint", settings),
            let keys = Self.address(document, "jwks_uri", settings)
        else { return nil }
        self.authorization = authorization
        self.token = token
        self.keys = keys
        namesItself = document["authorization_response_iss_parameter_supported"] == .flag(true)
        let ways = document["token_endpoint_auth_methods_supported"]?.texts
        takesBasic = ways?.contains("client_secret_basic") ?? true
    }

    /// Never without TLS where the issuer has it.
    private static func address(_ document: ClaimValue, _ name: String, _ settings: OpenIDConnectSettings)
        -> UpstreamAddress?
    {
        guard let address = document[name]?.text.flatMap({ UpstreamAddress($0) }) else { return nil }
        return address.origin.isSecure || !settings.issuer.origin.isSecure ? address : nil
    }
}

extension ClaimValue {
    /// Nil for bytes that are no JSON.
    init?(json bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(ClaimValue.self, from: Data(bytes)) else { return nil }
        self = value
    }
}

/// One public key of a provider, fit for verifying signatures (RFC 7517; RFC 7518, section 6).
struct ProviderKey: Sendable {
    let id: String?
    /// The key's own where it names one, otherwise those of its kind.
    private let algorithms: Set<OpenIDConnectSettings.Algorithm>
    private let members: ClaimValue

    /// Nil for keys of other kinds, for encryption, and for RSA keys that are too short.
    init?(_ members: ClaimValue) {
        guard members["use"] == nil || members["use"]?.text == "sig", let kinds = Self.algorithms(of: members) else {
            return nil
        }
        id = members["kid"]?.text
        algorithms = members["alg"] == nil ? kinds : kinds.filter { $0.rawValue == members["alg"]?.text }
        self.members = members
        guard !algorithms.isEmpty else { return nil }
    }

    func fits(_ id: String?, _ algorithm: OpenIDConnectSettings.Algorithm) -> Bool {
        (id == nil || id == self.id) && algorithms.contains(algorithm)
    }

    /// JWTKit's view of it: a collection of this key for this algorithm alone, so that nothing in a token can choose.
    func verifier(_ algorithm: OpenIDConnectSettings.Algorithm) async throws -> JWTKeyCollection {
        let collection = JWTKeyCollection()
        switch algorithm {
        case .rs256: await collection.add(rsa: try rsa(), digestAlgorithm: .sha256)
        case .ps256: await collection.add(pss: try rsa(), digestAlgorithm: .sha256)
        case .es256: await collection.add(ecdsa: try ES256PublicKey(parameters: try point()))
        case .es384: await collection.add(ecdsa: try ES384PublicKey(parameters: try point()))
        }
        return collection
    }

    private func rsa() throws -> Insecure.RSA.PublicKey {
        try Insecure.RSA.PublicKey(modulus: try text("n"), exponent: try text("e"))
    }

    private func point() throws -> ECDSAParameters {
        ECDSAParameters(x: try text("x"), y: try text("y"))
    }

    private func text(_ name: String) throws(TokenRefusal) -> String {
        guard let text = members[name]?.text, text.utf8.count <= 2048 else { throw .keyUnknown }
        return text
    }

    private static let minimumModulus = 256  // bytes: 2048 bits

    private static func algorithms(of members: ClaimValue) -> Set<OpenIDConnectSettings.Algorithm>? {
        switch (members["kty"]?.text, members["crv"]?.text) {
        case ("EC", "P-256"): return [.es256]
        case ("EC", "P-384"): return [.es384]
        case ("RSA", nil):
            let modulus = members["n"]?.text.flatMap { Base64URL.decode($0) }?.drop { $0 == 0 } ?? []
            return modulus.count >= minimumModulus ? [.rs256, .ps256] : nil
        default: return nil
        }
    }
}
