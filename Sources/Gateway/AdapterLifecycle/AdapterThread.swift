import Dispatch

/// A thread for one adapter's start and stop: one that blocks there holds up nobody else.
///
/// Kept for as long as the adapter: the runtime does not retain the executors that tasks prefer.
final class AdapterThread: TaskExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
