/// All that an adapter offers. The host builds routes, tables, sync collections and descriptions from it.
public struct AdapterDeclaration: Sendable, Equatable {
    public let name: AdapterName
    public let title: String
    public let summary: String
    public let version: String
    /// Used where the configuration names no `access`.
    public let access: Access
    public let entities: [Entity]
    public let operations: [Operation]
    public let doors: [Door]
    public let feeds: [LiveFeed]

    public init(
        name: AdapterName, title: String, summary: String, version: String, access: Access = .login,
        entities: [Entity] = [], operations: [Operation] = [], doors: [Door] = [], feeds: [LiveFeed] = []
    ) {
        self.name = name
        self.title = title
        self.summary = summary
        self.version = version
        self.access = access
        self.entities = entities
        self.operations = operations
        self.doors = doors
        self.feeds = feeds
    }

    public func entity(_ name: EntityName) -> Entity? {
        entities.first { $0.name == name }
    }

    public func operation(_ name: OperationName) -> Operation? {
        operations.first { $0.name == name }
    }
}
