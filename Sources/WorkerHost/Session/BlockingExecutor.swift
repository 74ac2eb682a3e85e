import Dispatch

/// Runs a task on a thread of its own, which may wait, apart from the few that all tasks share. Its queue is serial: such a queue
/// gets a thread however many others are blocked.
package final class BlockingExecutor: TaskExecutor {
    private let queue: DispatchQueue

    package init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
