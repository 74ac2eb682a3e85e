import Foundation
import NIOCore
import NIOPosix

/// The operating system's resolver (getaddrinfo(3)), which blocks and therefore has threads of its own. Whoever stops
/// waiting goes on at once; the thread is free when the system gives up.
public struct SystemNameResolver: NameResolver {
    private let loop = MultiThreadedEventLoopGroup.singleton.any()

    public init() {}

    public func addresses(of host: String) async throws(CancellationError) -> [IPAddress] {
        // Of two results the first counts, so the one that comes too late is dropped.
        let found = loop.makePromise(of: [IPAddress].self)
        NIOThreadPool.singleton.submit { state in
            found.succeed(state == .active ? Self.look(up: host) : [])
        }
        do {
            return try await withTaskCancellationHandler {
                try await found.futureResult.get()
            } onCancel: {
                found.fail(CancellationError())
            }
        } catch {
            throw CancellationError()
        }
    }

    private static func look(up host: String) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_ADDRCONFIG
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list) { $0?.pointee.ai_next }.compactMap { $0.flatMap { numeric($0.pointee) } }
    }

    private static func numeric(_ info: addrinfo) -> IPAddress? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return IPAddress(String(decoding: bytes, as: UTF8.self))
    }
}
