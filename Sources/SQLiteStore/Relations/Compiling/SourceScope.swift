import AdapterKit

/// The sources that an expression may name, with what is known of each.
struct SourceScope {
    enum Source {
        case records(CollectionLayout)
        /// The kinds of a nested relation's columns.
        case rows([RowKind?])
        /// The list whose elements it goes through; the source itself gives their positions.
        case elements(TypedSQL)
    }

    private var sources: [SourceName: Source] = [:]
    /// Those whose rows may be nulls in place of a row that is not there.
    private var optional: Set<SourceName> = []

    /// Throws `request.invalid` where the name is taken.
    mutating func add(_ name: SourceName, _ source: Source, isOptional: Bool) throws(PorticoError) {
        if isOptional { optional.insert(name) }
        guard sources.updateValue(source, forKey: name) == nil else {
            throw PorticoError(.requestInvalid, "Two sources of a relation have one name.")
        }
    }

    func layout(_ name: SourceName) throws(PorticoError) -> CollectionLayout {
        guard case .records(let layout)? = sources[name] else { throw Self.unknown }
        return layout
    }

    func isMandatory(_ name: SourceName) -> Bool { !optional.contains(name) }

    func kind(of column: Int, in name: SourceName) throws(PorticoError) -> RowKind? {
        guard case .rows(let kinds)? = sources[name], kinds.indices.contains(column) else { throw Self.unknown }
        return kinds[column]
    }

    func list(_ name: SourceName) throws(PorticoError) -> TypedSQL {
        guard case .elements(let list)? = sources[name] else { throw Self.unknown }
        return list
    }

    private static var unknown: PorticoError {
        PorticoError(.requestInvalid, "An expression names a source that is not there.")
    }
}

extension SourceName {
    /// As it is called in a statement.
    var sql: String { "t\(number)" }
}
