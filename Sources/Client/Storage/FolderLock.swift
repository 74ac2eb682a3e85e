import Foundation

/// Holds a folder for one replica: two machines over the same files would each believe what the other one undid. Ends with
/// the process, however that ends.
final class FolderLock: Sendable {
    private let descriptor: Int32

    init(_ folder: URL) throws {
        descriptor = open(folder.appendingPathComponent("lock").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageFailure("the folder cannot be written") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StorageFailure("the replica is open already")
        }
    }

    deinit {
        close(descriptor)
    }
}
