import AdapterKit
import RecordStorage
import SyncEngine

/// The adapters, as far as they settle conflicts.
struct ConflictResolvers: Sendable {
    private let adapters: [AdapterName: ServedAdapter]

    init(_ adapters: [ServedAdapter]) {
        self.adapters = Dictionary(adapters.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
    }

    func decide(_ query: PendingConflict) async -> Result<ConflictResolution, PorticoError> {
        guard let served = adapters[query.adapter] else {
            return .failure(PorticoError(.adapterUnavailable, "The adapter is not there."))
        }
        do {
            try served.status.requireRunning()
            return .success(try await served.adapter.resolve(query.conflict))
        } catch let error as PorticoError {
            return .failure(error)
        } catch {
            // Told as an adapter's defect, and not tried for ever: those behind it in the outbox go on.
            served.log.error("settling a conflict failed", ["detail": .text("\(error)")])
            return .failure(PorticoError(.recordConflict, "The conflict could not be settled."))
        }
    }
}
