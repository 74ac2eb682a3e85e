import AdapterKit

/// The names of a collection's tables and indexes, unquoted. The host's own tables begin with `portico_`; a
/// collection's always hold a slash.
struct TableNames: Sendable {
    let main: String
    let search: String

    init(_ collection: CollectionID) {
        main = "\(collection.adapter)/\(collection.entity)"
        search = "\(main)~search"
    }

    func list(_ field: FieldName) -> String { "\(main)~\(field)" }

    func index(_ index: Index) -> String {
        "\(main):\(index.fields.map(\.text).joined(separator: ","))\(index.isUnique ? "!" : "")"
    }
}
