import Synchronization

/// What was found out last, and for what: most often it is the same the next time.
final class Memo<Wish: Equatable & Sendable, Found: Sendable>: Sendable {
    private let last = Mutex<(wish: Wish, found: Found)?>(nil)

    func callAsFunction(_ wish: Wish, _ find: () throws -> Found) rethrows -> Found {
        if let known = last.withLock({ $0 }), known.wish == wish { return known.found }
        let found = try find()
        last.withLock { $0 = (wish, found) }
        return found
    }
}
