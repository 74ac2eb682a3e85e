import AdapterKit
import MirrorEngine
import RecordStorage
import Synchronization
import Telemetry

/// Has the mirrors that one request reads refreshed, or waits for that, before their rows are read for the first time. Once for a request.
final class MirrorReading: ReadPreparation {
    private struct State {
        var isPrepared = false
        var age: MirrorAge?
        var version: RecordsVersion?
    }

    private let mirrors: ReadMirrors
    private let caller: Caller
    private let services: GatewayServices
    private let adapter: AdapterName?
    private let state = Mutex(State())

    /// `adapter`: whose records have a version that the response is kept at; nil: it is not kept.
    init(_ mirrors: ReadMirrors, for caller: Caller, by services: GatewayServices, of adapter: AdapterName?) {
        (self.mirrors, self.caller, self.services, self.adapter) = (mirrors, caller, services, adapter)
    }

    /// Of the oldest rows; nil: none were asked for.
    var age: MirrorAge? { state.withLock { $0.age } }

    /// Of the adapter's records after the refresh; nil: none were asked for.
    var version: RecordsVersion? { state.withLock { $0.version } }

    /// Throws why the rows may not be read: the other system has failed for too long.
    func prepare() async throws {
        guard !state.withLock({ $0.isPrepared }) else { return }
        let age = try await RequestTimeline.measure(.mirrors, "mirrors") {
            try await mirrors.age(for: caller, watchedBy: services.credentials)
        }
        let version: RecordsVersion? =
            if let adapter { try await services.version(of: adapter) } else { nil }
        // Of reads at once the first counts: what it read is as old as that at least.
        state.withLock { if !$0.isPrepared { $0 = State(isPrepared: true, age: age, version: version) } }
    }
}
