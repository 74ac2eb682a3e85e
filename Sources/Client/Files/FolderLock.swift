import Foundation
import ReplicaStorage
import Synchronization

/// Holds a folder for one replica: two machines over the same files would each believe what the other one undid. Ends with
/// the process, however that ends.
final class FolderLock: Sendable {
    private let descriptor: Mutex<Int32?>

    init(_ folder: URL) throws {
        let found = open(folder.appendingPathComponent("lock").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard found >= 0 else { throw StorageFailure("the folder cannot be written") }
        guard flock(found, LOCK_EX | LOCK_NB) == 0 else {
            close(found)
            throw StorageFailure("the replica is open already")
        }
        descriptor = Mutex(found)
    }

    func release() {
        descriptor.withLock { held in
            if let held { close(held) }
            held = nil
        }
    }

    deinit {
        release()
    }
}
