import AdapterKit
import RecordStorage
import Synchronization

/// The collections that are installed.
struct LayoutCatalogue: Sendable {
    /// A field of other records that holds the id of a record.
    struct Reference: Sendable {
        let layout: CollectionLayout
        let column: Column
        /// Whether those records are deleted with it.
        let isOwned: Bool
    }

    private var layouts: [CollectionID: CollectionLayout] = [:]
    private var references: [CollectionID: [Reference]] = [:]
    /// The admission of statements that read several of them.
    let admission = StatementAdmission()
    let longReads = LongQueryHistory()

    mutating func add(_ layout: CollectionLayout) {
        layouts[layout.id] = layout
        for parent in references.keys { references[parent]?.removeAll { $0.layout.id == layout.id } }
        for reference in layout.entity.references {
            guard let column = try? layout.column(reference.field) else { continue }
            references[CollectionID(layout.id.adapter, reference.entity), default: []].append(
                Reference(layout: layout, column: column, isOwned: layout.entity.owners.contains(reference)))
        }
    }

    /// Throws `server.internal`: who asks for a collection that was never declared has not read its own declaration.
    func layout(_ id: CollectionID) throws(PorticoError) -> CollectionLayout {
        guard let layout = layouts[id] else {
            throw PorticoError(.serverInternal, "The collection \(id) is not installed.")
        }
        return layout
    }

    /// Whether there is a layout of exactly this declaration.
    func hasLayout(of declaration: CollectionDeclaration, scopeFields: [FieldName]) -> Bool {
        guard let layout = layouts[declaration.id] else { return false }
        return layout.entity == declaration.entity && layout.scopeFields == scopeFields
    }

    /// Whether anything is installed.
    var isInUse: Bool { !layouts.isEmpty }

    /// Which records may refer to a collection's.
    func references(to collection: CollectionID) -> [Reference] { references[collection] ?? [] }

    /// The numbers of the collections that are installed.
    var numbers: [Int64] { layouts.values.map(\.number) }

    func layout(number: Int64) -> CollectionLayout? {
        layouts.values.first { $0.number == number }
    }
}

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
