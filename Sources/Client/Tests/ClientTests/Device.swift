import Client
import Foundation
import ValueTree

/// One installation of an app: a folder, and what is open of it.
final class Device {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-\(UUID().uuidString)")
    let gateway: MemoryGateway
    let session: Session
    var settings: ReplicaSettings
    private(set) var replica: Replica!

    init(_ name: String, at gateway: MemoryGateway, settings: ReplicaSettings? = nil) async throws {
        self.gateway = gateway
        self.settings = settings ?? Self.settings
        session = Session(
            server: ServerAddress("http://gateway.example")!, transport: gateway, storage: CredentialsInMemory())
        try await session.signIn(name: name, password: "p")
        try open()
    }

    /// Small pages, so that there are several, of which all but the last are staged.
    static var settings: ReplicaSettings {
        var limits = SyncLimits()
        limits.page = 3
        limits.gathered = 2
        limits.pauses = .milliseconds(1)...(.milliseconds(20))
        return ReplicaSettings(limits: limits, indexes: ["notes": ["title"]])
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func open() throws {
        replica = try Replica(in: folder, session: session, settings: settings)
    }

    /// As a new process would find it.
    func reopen() async throws {
        await replica?.close()
        replica = nil
        try open()
    }

    func titles(_ order: RecordQuery.Order = .ascending("title")) async throws -> [String] {
        try await replica.records(RecordQuery("notes", order: [order])).compactMap { $0["title"]?.stringValue }
    }

    @discardableResult
    func sync() async -> SyncStatus { await replica.sync(within: .seconds(600)) }

    @discardableResult
    func note(_ title: String, sharedWith names: WireValue = []) async throws -> String {
        try await replica.create(in: "notes", ["title": .string(title), "sharedWith": names])
    }
}
