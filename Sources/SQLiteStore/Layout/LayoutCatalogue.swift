import AdapterKit

/// The collections that are installed.
struct LayoutCatalogue: Sendable {
    private var layouts: [CollectionID: CollectionLayout] = [:]
    /// Of statements that read several of them.
    let admission = StatementAdmission()
    let longReads = LongReads()

    mutating func add(_ layout: CollectionLayout) {
        layouts[layout.id] = layout
    }

    /// Throws `server.internal`: who asks for a collection that was never declared has not read its own declaration.
    func layout(_ id: CollectionID) throws(PorticoError) -> CollectionLayout {
        guard let layout = layouts[id] else {
            throw PorticoError(.serverInternal, "The collection \(id) is not installed.")
        }
        return layout
    }

    func layout(number: Int64) -> CollectionLayout? {
        layouts.values.first { $0.number == number }
    }
}
