import AdapterKit
import RecordStorage

/// An entity as devices know it.
public struct SyncCollection: Sendable {
    public let id: CollectionID
    /// In every message: the entity's name where no other adapter has one of that name, else `adapter/entity`.
    public let name: String
    public let entity: Entity
    /// Of the adapter, as configured.
    let access: Access
    let declaration: AdapterDeclaration

    /// Whether the caller's account and credential reach it at all, before any row rule is asked.
    func verdict(for caller: SyncCaller, effect: Effect) -> Access.Verdict {
        guard caller.reaches(id.adapter, effect) else { return .denied }
        let asked = (effect == .writes ? entity.writers : entity.readers) ?? access
        return asked.verdict(for: caller.principal, effect: effect)
    }
}

/// Who syncs, and how far the credential reaches within what the account may do.
public struct SyncCaller: Sendable {
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
