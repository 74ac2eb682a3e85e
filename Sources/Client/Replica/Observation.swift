/// The result of a query, and again whenever it is another one. Comes to its end when the replica is closed.
///
/// Each iteration watches by itself. Between two results there may have been others: a slow reader gets the latest.
public struct Observation<Element: Sendable & Equatable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    private let watch: @Sendable () -> AsyncStream<Void>
    private let read: @Sendable () async throws -> Element

    init(_ watch: @escaping @Sendable () -> AsyncStream<Void>, _ read: @escaping @Sendable () async throws -> Element) {
        self.watch = watch
        self.read = read
    }

    public func makeAsyncIterator() -> Iterator {
        // Watching begins before the first reading, so that nothing falls in between.
        Iterator(signals: watch().makeAsyncIterator(), read: read)
    }

    public struct Iterator: AsyncIteratorProtocol {
        var signals: AsyncStream<Void>.Iterator
        let read: @Sendable () async throws -> Element
        var last: Element?

        /// - Throws: ``ClientError/storage(_:)``, or `CancellationError`.
        public mutating func next() async throws -> Element? {
            guard let seen = last else {
                last = try await read()
                return last
            }
            while await signals.next() != nil {
                let current = try await read()
                guard current != seen else { continue }
                last = current
                return current
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
