import AdapterKit
import AttachmentFiles
import Gateway
import Identity
import RecordStorage
import Synchronization

/// One attempt to start an adapter: what the host gives it.
struct AdapterStart: Sendable {
    let store: any Store
    let identity: Identity
    let feeds: FeedServices
    let push: any PushSender
    let serviceOperations: [any ServiceOperations]
    let portals: [AdapterName: ProviderName?]
    let samples: SampleLoading
    let scratch: ScratchDirectory

    func run(_ served: ServedAdapter) async throws {
        let name = served.declaration.name
        try await samples.load(served, in: store)
        try await served.start(
            in: store, accounts: identity.accounts, clock: SystemClock(), live: feeds.signals(of: name), push: push,
            portal: (portals[name] ?? nil).flatMap { identity.callerUpstream($0) },
            serviceOperations: serviceOperations, scratch: scratch)
    }
}

/// Loads each adapter's sample records once, where they are wanted.
final class SampleLoading: Sendable {
    private let isWanted: Bool
    private let loaded = Mutex<Set<AdapterName>>([])

    init(isWanted: Bool) {
        self.isWanted = isWanted
    }

    func load(_ served: ServedAdapter, in store: any Store) async throws {
        let name = served.declaration.name
        guard isWanted, !loaded.withLock({ $0.contains(name) }) else { return }
        try await SampleData(served, store: store).load()
        loaded.withLock { _ = $0.insert(name) }
    }

    /// Where it fails, the adapter's start tries again, and fails by it.
    func loadEarly(_ served: ServedAdapter, in store: any Store) async {
        do {
            try await load(served, in: store)
        } catch {
            served.log.error("sample records cannot be loaded", ["detail": .text("\(error)")])
        }
    }
}
