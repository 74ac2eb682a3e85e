import NIOCore

/// An executor for each event loop of a group, so that a connection's task runs where its channel does.
///
/// Kept for as long as the server runs: the runtime does not retain the executors that tasks prefer.
struct EventLoopExecutors: Sendable {
    private let executors: [ObjectIdentifier: EventLoopExecutor]

    init(_ group: any EventLoopGroup) {
        executors = Dictionary(
            group.makeIterator().map { (ObjectIdentifier($0), EventLoopExecutor(loop: $0)) }, uniquingKeysWith: { $1 })
    }

    /// Nil, which is the global pool, for a loop of another group.
    subscript(loop: any EventLoop) -> (any TaskExecutor)? { executors[ObjectIdentifier(loop)] }
}

private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
