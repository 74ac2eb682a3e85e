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
    var liveFeeds: LiveFeedServices
    let push: any PushSender
    let serviceOperations: [any ServiceOperations]
    var upstreams: [AdapterName: AdapterUpstreams]
    let samples: SampleLoading
    let scratch: ScratchDirectory

    func run(_ served: ServedAdapter) async throws {
        let name = served.declaration.name
        try await samples.load(served, in: store)
        try await served.start(
            in: store, accounts: identity.accounts, clock: SystemClock(), live: liveFeeds.signals(of: name),
            push: push,
            upstreams: upstreams[name] ?? AdapterUpstreams(),
            serviceOperations: serviceOperations, scratch: scratch)
    }

    /// By another configuration.
    func with(_ upstreams: [AdapterName: AdapterUpstreams], _ liveFeeds: LiveFeedServices) -> AdapterStart {
        var other = self
        (other.upstreams, other.liveFeeds) = (upstreams, liveFeeds)
        return other
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

/// Fills an adapter that has no records with those it brings for showing itself. What is mirrored of another system is none
/// of them.
struct SampleData {
    private let served: ServedAdapter
    private let records: any RecordStore

    init(_ served: ServedAdapter, store: any Store) {
        self.served = served
        records = served.ownRecords(in: store)
    }

    /// One transaction, so that a first start that is interrupted leaves nothing half-loaded.
    func load() async throws {
        let mirrored = Set(served.declaration.mirrors.map(\.entity))
        for entity in served.declaration.entities where !mirrored.contains(entity.name) {
            if try await records.count(nil, in: entity.name) > 0 { return }
        }
        let samples = try served.adapter.sampleRecords().filter { !$0.records.isEmpty }
        guard !samples.isEmpty else { return }
        served.log.info(
            "loading sample records",
            ["entities": .text(samples.map { "\($0.entity) \($0.records.count)" }.joined(separator: ", "))])
        let changes = samples.flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        _ = try await records.apply(changes)
        served.log.info("sample records loaded", ["records": .count(changes.count)])
    }
}

/// The accounts of the demonstration, made where they are not there yet.
struct DemoAccounts {
    private let accounts: [HostSettings.DemoAccount]

    init(_ accounts: [HostSettings.DemoAccount]) {
        self.accounts = accounts
    }

    func create(in identity: Identity, log: Log) async throws {
        for account in accounts where try await identity.administration.account(named: account.name) == nil {
            try await identity.administration.addAccount(
                NewAccount(account.name, roles: account.roles, password: account.password), by: .system)
            log.info("demo account created", ["account": .text("\(account.name)")])
        }
    }
}
