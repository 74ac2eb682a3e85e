#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One end of a stream socket. Closed when its last use is over.
final class SocketEnd: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // A process that is started later must not hold the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    /// Ends both directions; blocked reads and writes return.
    func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// How many bytes were read: 0 at the end and after a failure.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return 0 }
        }
    }

    /// How many bytes were written: 0 where there is no room and `waits` is false; nil after a failure.
    func write(_ bytes: UnsafeRawBufferPointer, waits: Bool) -> Int? {
        while true {
            let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
            let count = send(descriptor, bytes.baseAddress, bytes.count, flags)
            if count >= 0 { return count }
            if errno == EAGAIN || errno == EWOULDBLOCK { return waits ? nil : 0 }
            if errno != EINTR { return nil }
        }
    }
}

/// A thread of the system, for work that blocks.
package enum SystemThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs the body on a thread of its own. False where the system has no thread left.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, work.toOpaque())
        if result != 0 { work.release() }
        return result == 0
    }
}
