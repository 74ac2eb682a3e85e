import AdapterKit
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
    let admission: Admission
    let clock: any WallClock
    /// Nil at the admin listener, which writes no records on a caller's behalf.
    let rights: AttachmentRights?

    init(store: any Store, limits: GatewayLimits, clock: any WallClock, rights: AttachmentRights? = nil) {
        self.rights = rights
        self.store = store
        self.limits = limits
        self.clock = clock
        catalogue = .standard
        bodies = BodyReader(catalogue: catalogue, limits: limits)
        encoder = ResponseEncoder(catalogue: catalogue, clock: clock)
        admission = Admission(limits)
        cache = ResponseCache(capacity: limits.answerCache)
        deadlines = DeadlineScheduler()
        calls = CallDispatcher(store: store, rights: rights, deadlines: deadlines)
    }
}
