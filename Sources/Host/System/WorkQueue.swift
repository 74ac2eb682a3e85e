import ServiceLifecycle

/// Items that one part of the host gives to a service, which works on each by itself until the gateway stops.
struct WorkQueue<Item: Sendable>: Sendable {
    fileprivate let items: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    init(_ buffering: AsyncStream<Item>.Continuation.BufferingPolicy = .unbounded) {
        (items, continuation) = AsyncStream.makeStream(bufferingPolicy: buffering)
    }

    /// Whether the item is worked on: the gateway does not stop.
    @discardableResult
    func add(_ item: Item) -> Bool {
        if case .terminated = continuation.yield(item) { false } else { true }
    }
}

/// Works on the items of a queue.
struct WorkQueueService<Item: Sendable>: Service {
    let queue: WorkQueue<Item>
    let work: @Sendable (Item) async -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for await item in queue.items { group.addTask { await work(item) } }
                group.cancelAll()
            }
        }
    }
}
