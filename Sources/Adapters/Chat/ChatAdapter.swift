import AdapterKit
import Synchronization

/// Answers by the function that is asked for, through whichever door.
final class ChatAdapter: Adapter {
    private let settings: ChatSettings
    /// Set once, before the first call.
    private let context = Mutex<AdapterContext?>(nil)

    init(_ settings: ChatSettings) {
        self.settings = settings
    }

    func start(_ context: AdapterContext) async throws {
        self.context.withLock { $0 = context }
    }

    func handle(_ call: Call) async throws -> Answer {
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
