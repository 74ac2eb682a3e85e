import Foundation
import ReplicaStorage
import Synchronization

/// A file that is there as a whole or not at all, whatever happens while it is written.
enum DurableFile {
    /// Beside it, readable by its owner alone, and then renamed.
    static func write(_ bytes: [UInt8], to url: URL) throws {
        let fresh = url.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        // Created with its permissions, so that there is no moment when others can open it.
        let isCreated = FileManager.default.createFile(
            atPath: fresh.path, contents: nil, attributes: [.posixPermissions: 0o600])
        guard isCreated else { throw CocoaError(.fileWriteUnknown) }
        let file = try FileHandle(forWritingTo: fresh)
        try file.write(contentsOf: Data(bytes))
        try file.synchronize()
        try file.close()
        guard rename(fresh.path, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

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
            if let held {
                // A process that is being started has every descriptor until it is replaced: closing this one alone would not
                // end the lock.
                flock(held, LOCK_UN)
                close(held)
            }
            held = nil
        }
    }

    deinit {
        release()
    }
}

/// Runs something on the files; its errors are the app's to know as ``ClientError/storage(_:)``.
func storing<Result>(_ work: () throws -> Result) throws -> Result {
    do {
        return try work()
    } catch let error as ClientError {
        throw error
    } catch {
        throw ClientError.storage("\(error)")
    }
}
