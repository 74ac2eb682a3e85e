import Foundation
import ReplicaStorage
import SyncDevice
import SyncMessages
import Synchronization

/// A device's data in the file that an app has it in. Its process may end at any commit.
///
/// A failing file ends the run: nothing in it is expected to fail.
final class ReplicaFile {
    private let path: String
    private let sabotage: Sabotage?
    private let fuse = CommitCrash()
    private(set) var database: ReplicaDatabase

    init(at url: URL, sabotage: Sabotage?) {
        (path, self.sabotage) = (url.path, sabotage)
        database = Self.open(path, fuse)
    }

    /// The process is gone, and there is another.
    func reopen() {
        try? database.close()
        database = Self.open(path, fuse)
    }

    private static func open(_ path: String, _ fuse: CommitCrash) -> ReplicaDatabase {
        expected {
            try ReplicaDatabase(path: path, indexes: ["notes": [["a"]]], durability: .process) { try fuse.burn() }
        }
    }

    func state(_ clientID: String) -> DeviceState {
        Self.expected { try database.state { clientID } }
    }

    /// - Parameter commits: after so many the process ends; nil: it goes on.
    /// - Returns: whether it is still there.
    func persist(
        _ entries: [JournalEntry], of state: DeviceState, touched: Set<RecordKey>, endingAfter commits: Int?
    ) -> Bool {
        survives(commits) {
            if sabotage == .checkpointFirst, entries.contains(where: \.isPull) { try database.save(state) }
            try database.persist(PersistedStep(entries: entries, state: state, touched: touched))
        }
    }

    func stage(_ piece: StagedPiece, endingAfter commits: Int?) -> Bool {
        survives(commits) { try database.stage(piece) }
    }

    /// Whether nothing has failed while the device read.
    var isWell: Bool { database.takeFailure() == nil }

    private func survives(_ commits: Int?, _ work: () throws -> Void) -> Bool {
        fuse.set(commits)
        defer { fuse.set(nil) }
        do {
            try work()
            return true
        } catch is CommitCrash.Burnt {
            return false
        } catch {
            fatalError("a replica's file: \(error)")
        }
    }

    private static func expected<Result>(_ work: () throws -> Result) -> Result {
        do { return try work() } catch { fatalError("a replica's file: \(error)") }
    }
}

/// Ends a process before one of its commits.
private final class CommitCrash: Sendable {
    struct Burnt: Error {}

    private let left = Mutex<Int?>(nil)

    func set(_ commits: Int?) { left.withLock { $0 = commits } }

    func burn() throws {
        let isBurnt = left.withLock { left in
            if left == 0 { return true }
            left = left.map { $0 - 1 }
            return false
        }
        if isBurnt { throw Burnt() }
    }
}

/// Rows of a device that it does not hold in memory, as of what was persisted: what a database is to an app.
final class PersistedRowStore: PersistedRows {
    private let stored = Mutex(ReplicaRows())
    private let pieces = Mutex<[RecordKey: RecordCopy?]>([:])

    func store(_ rows: ReplicaRows) { stored.withLock { $0 = rows } }
    func record(_ key: RecordKey) -> RecordCopy? { stored.withLock { $0[key] } }
    func revision(_ key: RecordKey) -> Int64? { record(key)?.rev }
    func records(of collection: String) -> [RecordCopy] { stored.withLock { $0.records(of: collection) } }

    func checksums() -> [String: ScopeChecksum] {
        stored.withLock { rows in
            Dictionary(uniqueKeysWithValues: rows.collections.map { ($0, rows.checksum(of: $0)) })
        }
    }

    func stage(_ piece: StagedPiece) {
        pieces.withLock { staged in
            staged = piece.isFirst ? [:] : staged.filter { !piece.unstaged.contains($0.key.collection) }
            for change in piece.changes.sorted { staged[change.key] = .some(change.copy) }
        }
    }

    func staged(_ key: RecordKey) -> RecordCopy?? { pieces.withLock { $0[key] } }
    func stagedRevision(_ key: RecordKey) -> Int64?? { staged(key).map { $0?.rev } }
    func staged(of collection: String) -> [RecordKey: RecordCopy?] {
        pieces.withLock { $0.filter { $0.key.collection == collection } }
    }
}
