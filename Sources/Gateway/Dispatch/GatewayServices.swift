import AdapterKit
import CoreMetrics
import Identity
import RecordStorage
import SyncEngine
import WireFormats

/// The dependencies of endpoints. One value, passed to each of them when the routes are built.
struct GatewayServices: Sendable {
    let store: any Store
    let limits: GatewayLimits
    let catalogue: FormatCatalogue
    let bodies: BodyReader
    let encoder: ResponseEncoder
    let cache: ResponseCache
    let deadlines: DeadlineScheduler
    let calls: CallDispatcher
    let quotas: RequestQuotas
    let processor = ProcessorShares.shared
    let metrics: RequestMetrics
    let tracing: RequestTracing
    let clock: any WallClock
    /// Nil at the admin listener, which writes no records on a caller's behalf.
    let rights: AttachmentRights?
    /// Ends what belongs to a sign-in with it; nil at the admin listener.
    let credentials: CredentialWatch?
    /// Where callers' changes of directories are recorded; nil at the admin listener.
    let changes: ChangeAudit?
    /// Where changes of operators are recorded; nil at the public listener.
    var audit: (@Sendable (AuditEvent) async throws -> Void)?

    /// `old`: those of the gateway whose place this one takes. Deadlines go on, and allowances where they are the same.
    init(
        store: any Store, limits: GatewayLimits, clock: any WallClock, rights: AttachmentRights? = nil,
        credentials: CredentialWatch? = nil, changes: ChangeAudit? = nil,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        tracing: RequestTracing = RequestTracing(tracer: nil, slow: nil), succeeding old: GatewayServices? = nil
    ) {
        self.tracing = tracing
        self.metrics = RequestMetrics(metrics)
        self.rights = rights
        self.credentials = credentials
        self.changes = changes
        self.store = store
        self.limits = limits
        self.clock = clock
        catalogue = .standard
        bodies = BodyReader(catalogue: catalogue, limits: limits)
        encoder = ResponseEncoder(catalogue: catalogue, clock: clock)
        quotas = old.flatMap { $0.limits.hasSameQuotas(as: limits) ? $0.quotas : nil } ?? RequestQuotas(limits)
        cache = ResponseCache(capacity: limits.answerCache)
        deadlines = old?.deadlines ?? DeadlineScheduler()
        calls = CallDispatcher(store: store, rights: rights, changes: changes, deadlines: deadlines)
    }

    /// A response from the cache, without waiting.
    func lookUp(_ key: ResponseCache.Key, of adapter: AdapterName) -> CacheLookup {
        store.knownVersion(of: adapter).flatMap { cache.response(for: key, at: $0) }.map { .found($0) } ?? .missing(key)
    }

    /// The version of an adapter's records, without waiting where the store knows it.
    func version(of adapter: AdapterName) async throws -> RecordsVersion {
        if let known = store.knownVersion(of: adapter) { return known }
        return try await store.currentVersion(of: adapter)
    }
}
