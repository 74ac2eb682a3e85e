#if canImport(Network)
    import Network

    /// Whether this device has a network, as it changes: what a ``PlistFeedController`` takes as its reachability.
    public enum NetworkPath {
        /// The first value is the state now. Ends with anyone who reads it.
        public static func reachability() -> AsyncStream<Bool> {
            let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
            continuation.onTermination = { _ in monitor.cancel() }
            monitor.start(queue: .global(qos: .utility))
            return stream
        }
    }
#endif
