import AdapterKit
import Synchronization

/// Observers that a store calls after its commits (``Store/observe(_:_:)``). Safe to use from any task.
public final class CommitObservers: Sendable {
    private struct Entry {
        weak var observer: (any AnyObject & Sendable)?
        let notify: @Sendable (Revision) -> Void
    }

    private let entries = Mutex<[Entry]>([])

    /// Creates the observers of one store: none.
    public init() {}

    /// Adds one. Those that have gone are removed, so that there are never many of them.
    public func add<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) {
        let entry = Entry(observer: observer) { [weak observer] position in
            if let observer { body(observer, position) }
        }
        entries.withLock { entries in
            entries.removeAll { $0.observer == nil }
            entries.append(entry)
        }
    }

    /// Calls all that live, in the order in which they were added.
    public func notify(_ position: Revision) {
        for notify in entries.withLock({ $0.map(\.notify) }) { notify(position) }
    }
}
