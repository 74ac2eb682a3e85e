import AdapterKit
import RecordStorage
import SyncMessages

/// Every collection that devices can sync, by the name that messages give it.
public struct SyncCatalogue: Sendable {
    /// In the order of their names.
    public let collections: [SyncCollection]
    private let byName: [String: SyncCollection]
    private let byID: [CollectionID: SyncCollection]

    /// Creates the catalogue of what adapters declare, with the rights that the configuration gives
    /// (``AdapterDeclaration/granting(_:entities:)``). Entities without a resource path stay out.
    public init(_ declarations: [AdapterDeclaration]) {
        let found = declarations.flatMap { declaration in
            declaration.entities.filter { $0.exposure == .resource }.map { (declaration, $0) }
        }
        let uses = Dictionary(found.map { ($0.1.name, 1) }, uniquingKeysWith: +)
        collections = found.map { declaration, entity in
            let id = CollectionID(declaration.name, entity.name)
            return SyncCollection(
                id: id, name: uses[entity.name] == 1 ? entity.name.text : id.description, entity: entity,
                declaration: declaration)
        }.sorted { $0.name < $1.name }
        byName = Dictionary(collections.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        byID = Dictionary(collections.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    /// Whether the caller may write a record that can name an attachment.
    public func takesAttachments(of caller: SyncCaller) -> Bool {
        collections.contains {
            !$0.entity.attachments.isEmpty && $0.decision(for: caller, effect: .writes) == .allowed
        }
    }

    /// The collection of that name in messages; nil where there is none.
    public subscript(name: String) -> SyncCollection? { byName[name] }

    /// The collection of that id; nil where devices cannot sync it.
    public subscript(id: CollectionID) -> SyncCollection? { byID[id] }
}

/// An entity as devices know it.
public struct SyncCollection: Sendable {
    /// The adapter's name and the entity's.
    public let id: CollectionID
    /// In every message: the entity's name where no other adapter has one of that name, else `adapter/entity`.
    public let name: String
    /// The entity as the adapter declares it.
    public let entity: Entity
    let declaration: AdapterDeclaration
    /// Whether its truth is in another system.
    var isMirror: Bool { declaration.mirror(of: entity.name) != nil }

    /// Whether the caller may read any of it.
    public func isReadable(by caller: SyncCaller) -> Bool { decision(for: caller, effect: .reads) == .allowed }

    /// Whether the caller's account and credential reach it at all, before any row rule is asked.
    func decision(for caller: SyncCaller, effect: Effect) -> Access.Decision {
        guard caller.reaches(id.adapter, effect) else { return .denied }
        return (effect == .writes ? writers : readers).decision(for: caller.principal)
    }

    /// The callers that may read any of it.
    public var readers: Access { declaration.readers(of: entity) }

    /// The callers that may write any of it.
    public var writers: Access { declaration.writers(of: entity) }
}

/// A caller that syncs, and how far the credential reaches within what the account may do.
public struct SyncCaller: Sendable {
    /// Whose account it is.
    public let principal: Principal
    private let adapters: Set<AdapterName>?
    private let mayWrite: Bool

    /// `adapters` nil: every one.
    public init(_ principal: Principal, adapters: Set<AdapterName>? = nil, mayWrite: Bool = true) {
        self.principal = principal
        self.adapters = adapters
        self.mayWrite = mayWrite
    }

    func reaches(_ adapter: AdapterName, _ effect: Effect) -> Bool {
        (effect == .reads || mayWrite) && adapters?.contains(adapter) ?? true
    }
}

extension SyncCaller {
    /// Whether every row rule and every access says the same of both: they are compared by the bytes of all that rules
    /// look at, since texts that are equal for a reader may be two accounts' names.
    public func seesTheSame(as other: SyncCaller) -> Bool {
        let (one, two) = (principal, other.principal)
        return one.kind == two.kind && one.id.hasSameBytes(as: two.id) && one.name.hasSameBytes(as: two.name)
            && one.roles == two.roles && adapters == other.adapters && mayWrite == other.mayWrite
            && one.attributes.count == two.attributes.count
            && one.attributes.allSatisfy { two.attributes[$0.key]?.hasSameBytes(as: $0.value) ?? false }
    }
}

/// A collection as one principal may see it: the unit that is counted, checked and fetched again.
///
/// Whatever grants a row (own, shared, by a group) is one scope, so a row that loses one grant stays while another holds.
struct SyncScope: Sendable {
    let collection: SyncCollection
    let principal: Principal
    /// Nil: every row.
    let visible: Filter?
    let groups: [GroupRelation]
    /// Changes when the same rows would be seen by other rules: the declaration, the configured access, or the
    /// principal's roles and attributes are not what they were; or when the records, or those of a group that opens
    /// them, were replaced as a whole.
    let fingerprint: UInt64

    /// `replacements`: of the store, where the fingerprint is looked at.
    init(_ collection: SyncCollection, for caller: SyncCaller, replacements: [CollectionID: Revision] = [:]) {
        self.collection = collection
        principal = caller.principal
        let isOpen = collection.decision(for: caller, effect: .reads) == .allowed
        visible = isOpen ? collection.entity.rows.read.filter(for: caller.principal) : .never
        groups = visible == nil || visible == .never ? [] : collection.entity.rows.read.groups
        var digest = StableHash()
        digest.add(visible)
        for field in collection.entity.fields { digest.add(field.name.text) }
        let adapter = collection.id.adapter
        for id in [collection.id] + groups.map({ CollectionID(adapter, $0.entity) }) {
            if let replaced = replacements[id] { digest.add("replaced \(replaced)") }
        }
        fingerprint = digest.value
    }

    var name: String { collection.name }

    /// Nil where the principal may not read the collection at all.
    var description: CollectionDescription? {
        guard visible != .never else { return nil }
        let fields = collection.entity.fields.map { ($0.name.text, $0.shape.typeName) }
        return CollectionDescription(
            key: collection.entity.key.field.text, fields: Dictionary(fields, uniquingKeysWith: { $1 }))
    }

    /// Whether the principal may see a row in that state, with the groups as they were at that position.
    func holds(_ state: RowState?, at position: Revision, in memberships: GroupMemberships) throws -> Bool {
        guard let state, visible != .never else { return false }
        guard visible != nil else { return true }
        return try collection.entity.rows.read.holds(for: principal, state.values) { entity, id, members in
            try memberships.contains(
                principal, in: id, of: CollectionID(collection.id.adapter, entity), members, at: position)
        }
    }
}

extension Shape {
    /// As `docs/protocol/sync.md` lists them.
    fileprivate var typeName: String {
        switch self {
        case .any: "any"
        case .bool: "boolean"
        case .integer: "integer"
        case .double: "double"
        case .decimal: "decimal"
        case .string, .choice: "string"
        case .date: "date"
        case .data: "data"
        case .list: "list"
        case .object: "object"
        }
    }
}
