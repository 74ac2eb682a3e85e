import AdapterKit
import Synchronization

/// The last durable operation ids, of the store and of each adapter. Moved by the writer only, after a commit; asked by
/// everyone, on every request.
final class LogPositions: Sendable {
    private let store: Atomic<Int64>
    private let adapters: Mutex<[AdapterName: Int64]>

    init(last: Int64, adapters: [AdapterName: Int64]) {
        store = Atomic(last)
        self.adapters = Mutex(adapters)
    }

    var last: Int64 { store.load(ordering: .acquiring) }

    func last(of adapter: AdapterName) -> Int64 {
        adapters.withLock { $0[adapter] ?? 0 }
    }

    func advance(to position: Int64, adapters touched: [AdapterName: Int64]) {
        adapters.withLock { $0.merge(touched) { max($0, $1) } }
        store.store(position, ordering: .releasing)
    }
}
