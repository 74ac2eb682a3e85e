import Synchronization

/// A value that is set once, after what needs it was made: the routes' description, which is itself at a route.
final class DeferredValue<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) {
        stored.withLock { $0 = value }
    }
}
