import Glibc
import NIOCore

/// A socket that listens, and that outlives the process that accepts from it.
///
/// Connections that arrive while no process accepts wait in it. So a restart fails no connection: systemd keeps the socket and
/// passes it on (`LISTEN_FDS`, sd_listen_fds(3)), or the gateway passes it on to its own successor.
public struct ListeningSocket: Sendable {
    /// Where systemd's first socket is.
    private static let firstInherited: Int32 = 3
    /// Connections that wait to be accepted; the kernel's own limit (`net.core.somaxconn`) may be lower.
    private static let backlog: Int32 = 4_096
    /// Bytes of a connection that the kernel holds and has not sent yet. Without this bound it takes some megabytes for
    /// each peer that reads slowly, and copying them delays every other connection of the event loop (tcp(7)).
    private static let unsentBytes: Int32 = 128 << 10

    let descriptor: Int32

    /// The socket that this process was started with; nil: none.
    public static func inheritedSocket(environment: [String: String]) -> ListeningSocket? {
        guard environment["LISTEN_PID"] == String(getpid()), let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
            count >= 1
        else { return nil }
        let flags = fcntl(firstInherited, F_GETFL)
        guard flags >= 0, fcntl(firstInherited, F_SETFL, flags | O_NONBLOCK) == 0 else { return nil }
        _ = fcntl(firstInherited, F_SETFD, FD_CLOEXEC)
        boundUnsentBytes(of: firstInherited)
        return ListeningSocket(descriptor: firstInherited)
    }

    /// Throws ``ListeningFailure`` or what the look-up of the name says.
    public static func open(host: String, port: Int) throws -> ListeningSocket {
        let descriptor = try boundDescriptor(host, port)
        guard listen(descriptor, backlog) == 0 else {
            let failure = failure(host, port)
            close(descriptor)
            throw failure
        }
        boundUnsentBytes(of: descriptor)
        return ListeningSocket(descriptor: descriptor)
    }

    /// As ``open(host:port:)`` would throw now. No connection is accepted meanwhile.
    public static func check(host: String, port: Int) throws { close(try boundDescriptor(host, port)) }

    private static func boundDescriptor(_ host: String, _ port: Int) throws -> Int32 {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(Int32(clamping: address.protocol.rawValue), kind, 0)
        guard descriptor >= 0 else { throw failure(host, port) }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        let isBound =
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size) == 0
            && address.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0
        guard isBound else {
            let failure = failure(host, port)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Connections inherit it from the socket that they are accepted from. Where it cannot be set nothing is lost but
    /// memory.
    private static func boundUnsentBytes(of descriptor: Int32) {
        var bytes = unsentBytes
        _ = setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// To be called once another process has listened on it, with a queue length of its own.
    func lengthenQueue() throws {
        guard listen(descriptor, Self.backlog) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
    }

    /// A second hold on the socket, for an owner that closes what it accepts from.
    func duplicate() throws -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
        return copy
    }

    private static func failure(_ host: String, _ port: Int) -> any Error {
        let error = IOError(errnoCode: errno, reason: "listen")
        return ListeningFailure(error, at: .tcp(host: host, port: port)) ?? error as any Error
    }

    /// Releases the socket: where no other process holds it, new connections are refused instead of waiting.
    public func release() { close(descriptor) }

    /// Replaces this process by the same program, which finds the socket where systemd would have put it. Returns only
    /// where that fails.
    public func handOver(program: String, arguments: [String], environment: [String: String]) {
        closeOthersOnExecution()
        guard dup2(descriptor, Self.firstInherited) >= 0, fcntl(Self.firstInherited, F_SETFD, 0) == 0 else { return }
        // The threads of a runtime block signals, and a program inherits what the thread that starts it blocks.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        var variables = environment
        variables["LISTEN_FDS"] = "1"
        variables["LISTEN_PID"] = String(getpid())
        let words = arguments.map { strdup($0) } + [nil]
        let pairs = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        execve(program, words, pairs)
    }

    private func closeOthersOnExecution() {
        for other in Self.firstInherited..<Int32(clamping: min(sysconf(Int32(_SC_OPEN_MAX)), 65_536)) {
            _ = fcntl(other, F_SETFD, FD_CLOEXEC)
        }
    }
}

/// An address that could not be listened at, in words for the operator.
public struct ListeningFailure: Error, CustomStringConvertible {
    public let description: String
    /// Whether another program listens there.
    public let isTaken: Bool

    /// nil where the error is of another kind: these three come from `bind` and from nothing that follows it.
    init?(_ error: IOError, at address: ListenAddress) {
        guard let reason = Self.reasons[error.errnoCode] else { return nil }
        description = "\(address) cannot be listened at: \(reason)."
        isTaken = error.errnoCode == EADDRINUSE
    }

    private static let reasons = [
        EADDRINUSE: "another program does already", EADDRNOTAVAIL: "this machine has no such address",
        EACCES: "this user may not",
    ]
}

/// Where a server listens.
public enum ListenAddress: Sendable, CustomStringConvertible {
    case tcp(host: String, port: Int)
    case unixSocket(path: String)
    /// One that listens already, as passed on by systemd or by a predecessor.
    case socket(ListeningSocket)

    public var description: String {
        switch self {
        case .tcp(let host, let port): "\(host):\(port)"
        case .unixSocket(let path): path
        case .socket: "the inherited socket"
        }
    }
}
