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
    public let mounts: [HTTPMount]
    public let feeds: [LiveFeed]
    /// What its records are held to beyond what is declared; nil: nothing.
    public let rules: (any RecordRules)?

    public init(
        name: AdapterName, title: String, summary: String, version: String, access: Access = .login,
        entities: [Entity] = [], operations: [Operation] = [], mounts: [HTTPMount] = [], feeds: [LiveFeed] = [],
        rules: (any RecordRules)? = nil
    ) {
        self.name = name
        self.title = title
        self.summary = summary
        self.version = version
        self.access = access
        self.entities = entities
        self.operations = operations
        self.mounts = mounts
        self.feeds = feeds
        self.rules = rules
    }

    public func entity(_ name: EntityName) -> Entity? {
        entities.first { $0.name == name }
    }

    public func operation(_ name: OperationName) -> Operation? {
        operations.first { $0.name == name }
    }
}

extension AdapterDeclaration {
    /// Rules are code, of which only their presence is compared.
    public static func == (left: AdapterDeclaration, right: AdapterDeclaration) -> Bool {
        left.name == right.name && left.title == right.title && left.summary == right.summary
            && left.version == right.version && left.access == right.access && left.entities == right.entities
            && left.operations == right.operations && left.mounts == right.mounts && left.feeds == right.feeds
            && (left.rules == nil) == (right.rules == nil)
    }
}
