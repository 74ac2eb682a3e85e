/// All that an adapter offers. The host builds routes, tables, sync collections and descriptions from it.
public struct AdapterDeclaration: Sendable, Equatable {
    /// The adapter's name in paths, configuration and logs; equal to ``AdapterModule/name``.
    public let name: AdapterName
    /// The name to show to people.
    public let title: String
    /// One sentence that says what the adapter offers.
    public let summary: String
    /// The version of the adapter's contract, for descriptions.
    public let version: String
    /// The rights to read and write, where the configuration does not say, and an entity or operation has no rights of its own.
    public let access: AccessRights
    /// The kinds of records that the adapter keeps.
    public let entities: [Entity]
    /// The operations that can be called.
    public let operations: [Operation]
    /// The subtrees of paths that the adapter serves itself.
    public let mounts: [HTTPMount]
    /// The operations that are reached over SOAP too.
    public let soapServices: [SOAPService]
    /// The streams of server-sent events.
    public let liveFeeds: [LiveFeed]
    /// The entities whose truth is in another system. Their ``Entity/writers`` are
    /// none where ``MirrorSource/writing`` is.
    public let mirrors: [MirrorSource]
    /// Rules for its records beyond what is declared; nil: none.
    public let rules: (any RecordRules)?

    /// Creates an adapter declaration with these values.
    public init(
        name: AdapterName, title: String, summary: String, version: String, access: AccessRights = AccessRights(),
        entities: [Entity] = [], operations: [Operation] = [], mounts: [HTTPMount] = [], liveFeeds: [LiveFeed] = [],
        mirrors: [MirrorSource] = [], rules: (any RecordRules)? = nil, soapServices: [SOAPService] = []
    ) {
        self.name = name
        self.title = title
        self.summary = summary
        self.version = version
        self.access = access
        let onlyRead = Set(mirrors.lazy.filter { $0.writing == .none }.map(\.entity))
        self.entities = entities.map {
            onlyRead.contains($0.name) ? $0.with(readers: $0.readers, writers: .nobody) : $0
        }
        self.operations = operations
        self.mounts = mounts
        self.soapServices = soapServices
        self.liveFeeds = liveFeeds
        self.mirrors = mirrors
        self.rules = rules
    }

    /// The entity of that name; nil where none is declared.
    public func entity(_ name: EntityName) -> Entity? {
        entities.first { $0.name == name }
    }

    /// Where the truth of that entity is; nil: here.
    public func mirror(of entity: EntityName) -> MirrorSource? {
        mirrors.first { $0.entity == entity }
    }

    /// The operation of that name; nil where none is declared.
    public func operation(_ name: OperationName) -> Operation? {
        operations.first { $0.name == name }
    }
}

extension AdapterDeclaration {
    /// Rules are code, of which only their presence is compared.
    public static func == (left: AdapterDeclaration, right: AdapterDeclaration) -> Bool {
        left.name == right.name && left.title == right.title && left.summary == right.summary
            && left.version == right.version && left.access == right.access && left.entities == right.entities
            && left.mirrors == right.mirrors && left.operations == right.operations && left.mounts == right.mounts
            && left.soapServices == right.soapServices
            && left.liveFeeds == right.liveFeeds
            && (left.rules == nil) == (right.rules == nil)
    }
}
