import AdapterKit
import Synchronization

/// Answers by the function that is asked for, through whichever door.
final class ChatAdapter: Adapter {
    private let settings: ChatSettings
    /// Set once, before the first call.
    private let context = Mutex<AdapterContext?>(nil)
    /// What goes on beside the calls, from the start to the stop.
    private let work = Mutex<[Task<Void, Never>]>([])

    init(_ settings: ChatSettings) {
        self.settings = settings
    }

    func start(_ context: AdapterContext) async throws {
        self.context.withLock { $0 = context }
        let (pushes, retention) = (
            MessagePushes(context: context, settings: settings), Retention(context: context, settings: settings)
        )
        work.withLock { $0 = [Task { await pushes.run() }, Task { await retention.run() }] }
    }

    func stop() async {
        let tasks = work.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let context = context.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The chat has not started.", retryAfter: 1)
        }
        if call.operation == Twaddle.operation.name {
            return .value(.dictionary(try await Twaddle(call, context, settings).answer()))
        }
        guard let function = ChatFunction.by(call.operation) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
        return .value(.dictionary(try await function.run(ChatCall(call, call.input, context, settings))))
    }
}
