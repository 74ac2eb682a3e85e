import AdapterKit

/// Which rows of an adapter's entities somebody may read: a store narrows every source of a relation to them.
public struct VisibleRows: Sendable {
    public let adapter: AdapterName
    private let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    private let principal: Principal?

    public init(of declaration: AdapterDeclaration, for principal: Principal?) {
        adapter = declaration.name
        self.declaration = declaration
        self.principal = principal
    }

    /// Nil: every row. Throws `route.notFound` for an entity that the adapter does not have, and `auth.required` or
    /// `access.denied` for one that nobody of that kind may read.
    public func filter(of entity: EntityName) throws(PorticoError) -> Filter? {
        try EntityScope(reading: entity, of: declaration, for: principal).visible
    }
}
