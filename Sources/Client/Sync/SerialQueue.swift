import Dispatch

/// Runs an actor's jobs on a thread of its own, one after another, so that it may wait for a disk without holding up other
/// tasks.
///
/// `@unchecked` is not needed: a dispatch queue is safe to share, and it is all there is.
final class SerialQueue: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
