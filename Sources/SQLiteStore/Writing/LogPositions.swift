import AdapterKit
import Synchronization

/// The last durable operation ids, of the store and of each adapter, and where the log begins. Moved by the writer only,
/// after a commit; asked by everyone, on every request.
final class LogPositions: Sendable {
    private let store: Atomic<Int64>
    private let lowest: Atomic<Int64>
    private let adapters: Mutex<[AdapterName: Int64]>
    private let observers = Mutex<[@Sendable (Revision) -> Void]>([])

    init(last: Int64, floor: Int64, adapters: [AdapterName: Int64]) {
        store = Atomic(last)
        lowest = Atomic(floor)
        self.adapters = Mutex(adapters)
    }

    var last: Int64 { store.load(ordering: .acquiring) }

    var floor: Int64 { lowest.load(ordering: .acquiring) }

    func last(of adapter: AdapterName) -> Int64 {
        adapters.withLock { $0[adapter] ?? 0 }
    }

    var allAdapters: [AdapterName: Int64] { adapters.withLock { $0 } }

    func advance(to position: Int64, adapters touched: [AdapterName: Int64]) {
        adapters.withLock { $0.merge(touched) { max($0, $1) } }
        let before = store.exchange(position, ordering: .acquiringAndReleasing)
        guard position > before else { return }
        for observer in observers.withLock({ $0 }) { observer(Revision(position)) }
    }

    func observe(_ observer: @escaping @Sendable (Revision) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func raise(floor: Int64) {
        lowest.store(floor, ordering: .releasing)
    }
}
