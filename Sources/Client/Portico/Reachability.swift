#if canImport(Network)
    import Network
#endif

/// Says when there may be a network again. A hint: a try that would have been made later is made now, and nothing is ever
/// left undone because of it.
public protocol Reachability: Sendable {
    /// An element each time.
    func networkAppearances() -> AsyncStream<Void>
}

#if canImport(Network)
    /// The system's knowledge of its network paths.
    public struct SystemReachability: Reachability {
        /// Observes the system's network paths.
        public init() {}

        public func networkAppearances() -> AsyncStream<Void> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { path in
                    if path.status == .satisfied { continuation.yield() }
                }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: .global(qos: .utility))
            }
        }
    }
#endif
