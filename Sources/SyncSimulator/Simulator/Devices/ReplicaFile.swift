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
    private let fuse = Fuse()
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

    private static func open(_ path: String, _ fuse: Fuse) -> ReplicaDatabase {
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
        } catch is Fuse.Burnt {
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
private final class Fuse: Sendable {
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
