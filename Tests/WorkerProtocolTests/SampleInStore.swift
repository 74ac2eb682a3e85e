import AdapterKit
import AdapterTesting
import Foundation
import RecordStorage
import SQLiteStore
import WorkerTesting

/// Runs the body with the sample adapter, its samples in a store of the host's, and all of its records.
func withSample(
    as mode: Mode, people: People? = nil, upstream: (any Upstream)? = nil,
    accounts: any AccountLookup = MemoryAccounts([]),
    _ body: (any Adapter, AdapterRecords) async throws -> Void
) async throws {
    try await withStoredSamples { records in
        let adapter = try mode.module(SampleModule.self).make(AdapterConfiguration())
        try await adapter.start(
            AdapterContext(
                records: records, accounts: accounts, log: .discarding, clock: SettableClock(),
                live: people ?? NoLiveSignals(), push: people ?? NoPushSender(), upstream: upstream))
        try await body(adapter, records)
        await adapter.stop()
    }
}

/// Runs the body with the samples of the sample adapter in a store.
func withStoredSamples(_ body: (AdapterRecords) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "portico-worker-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let declaration = try SampleModule.declare(AdapterConfiguration())
    let store = try SQLiteStore(
        SQLiteStoreSettings(path: folder.appending(path: "store").path, clock: SettableClock()))
    try await store.install(declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
    let records = AdapterRecords(store: store, declaration: declaration)
    for samples in try SampleModule.make(AdapterConfiguration()).sampleRecords() {
        _ = try await records.apply(samples.records.map { RecordChange(samples.entity, .create(nil, $0)) })
    }
    try await body(records)
    await store.close()
}

/// What an operation of the sample adapter answers.
func value(
    _ adapter: any Adapter, _ action: SampleModule.Action, _ records: any RecordStore, _ text: String = ""
) async throws -> WireValue {
    let call = Call(
        operation: OperationName(unchecked: action.rawValue), input: ["text": .string(text)], caller: .testUser,
        requestID: "r", deadline: .now + .seconds(30), records: records, log: .discarding)
    guard case .value(let value) = try await adapter.handle(call).content else { return .null }
    return value
}

/// Accounts of every name; that of one alone has a session.
struct OneSession: AccountLookup {
    func account(named name: String) async throws -> AccountSummary? {
        AccountSummary(id: name, name: name, displayName: name)
    }

    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] { [] }

    func hasSession(_ session: String, of account: String) async throws -> Bool {
        session == "open" && account == "other"
    }
}
