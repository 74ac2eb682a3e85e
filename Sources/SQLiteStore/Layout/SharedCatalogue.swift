import AdapterKit
import Synchronization

/// The catalogue that is in force, and whether the store is open.
final class SharedCatalogue: Sendable {
    private struct State {
        var catalogue = LayoutCatalogue()
        var isClosed = false
    }

    private let state = Mutex(State())

    var current: LayoutCatalogue { state.withLock { $0.catalogue } }

    /// Throws `store.unavailable` once the store is closed.
    func open() throws(PorticoError) -> LayoutCatalogue {
        let (catalogue, isClosed) = state.withLock { ($0.catalogue, $0.isClosed) }
        if isClosed { throw .closed }
        return catalogue
    }

    func add(_ layouts: [CollectionLayout]) {
        state.withLock { state in
            for layout in layouts { state.catalogue.add(layout) }
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }
}
