import AdapterKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps a second process from opening the store: two writers can damage its file.
///
/// A lock of the kernel on a file beside it, which ends with the process however that ends.
final class StoreLock: Sendable {
    /// Nil once it was released.
    private let descriptor: Mutex<Int32?>

    /// Throws `store.unavailable` where another process has the store, or the directory cannot be written.
    init(for path: String) throws(PorticoError) {
        // Not inherited by worker processes, which would keep it.
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw PorticoError(
                .storeUnavailable, "The store's directory cannot be written.",
                logDetail: String(cString: strerror(errno)))
        }
        self.descriptor = Mutex(descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw PorticoError(
                .storeUnavailable, "Another process has the store open: a gateway runs with this data directory.")
        }
    }

    func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor {
                // A process that is being started has every descriptor until it is replaced: closing this one alone would not
                // end the lock.
                flock(open, LOCK_UN)
                close(open)
            }
            descriptor = nil
        }
    }

    deinit { release() }
}
