import AdapterKit
import RecordStorage

/// Changes since a position, as far as they tell whom they may concern: each row's values before and after.
public struct RowChanges: Sendable {
    struct Change: Sendable {
        let collection: CollectionID
        /// The values that row rules look at, as they were before each change and as they are; none where it is not
        /// there any more.
        let states: [WireDictionary]
        /// It was there before and is not now, and nothing is kept of it: either no rule looks at a field, or a migration
        /// changed it.
        let isGoneUnknown: Bool
    }

    /// Log entries that are looked at; with more, every caller is concerned.
    public static let mostEntries = 64

    /// The position up to which the changes were read.
    public let position: Revision
    let changes: [Change]

    /// Whose records have changed.
    public var adapters: Set<AdapterName> { Set(changes.map(\.collection.adapter)) }

    /// The reads of ``init(since:at:)``.
    public static func reads(since position: Revision) -> [StoreRead] {
        [.changes(after: position, limit: mostEntries + 1)]
    }

    /// Nil where that cannot be determined cheaply: too much has changed, a collection was replaced, or the log does not
    /// reach back.
    public init?(since position: Revision, at snapshot: any StoreSnapshot) throws {
        guard position >= snapshot.floor else { return nil }
        let entries = try snapshot.changes(after: position, limit: Self.mostEntries + 1)
        guard entries.count <= Self.mostEntries else { return nil }
        if entries.contains(where: { $0.kind == .replaceAll }) { return nil }
        self.position = snapshot.position
        try snapshot.prefetch(entries.map { .record($0.id, in: $0.collection) })
        changes = try entries.map { entry in
            let now = try snapshot.record(entry.id, in: entry.collection, visible: nil)?.fields
            // A migration notes no values: the row is taken as it is.
            let before = entry.previousScopeValues.isEmpty ? nil : entry.previousScopeValues
            return Change(
                collection: entry.collection, states: [before, now].compactMap { $0 },
                isGoneUnknown: before == nil && now == nil && entry.previousRevision != nil)
        }
    }
}

/// Whom changes concerns: one who follows some collections, by the rules of their rows.
///
/// It may say yes in vain, and never no: rows that a group opens concern every caller who follows them, and so do the
/// groups themselves.
public struct SyncInterest: Sendable {
    private let principal: Principal
    /// Nil: whatever the row.
    private var rules: [CollectionID: RowRule?] = [:]

    /// `names` nil: every collection that the caller may see.
    public init(_ names: [String]?, in catalogue: SyncCatalogue, for caller: SyncCaller) {
        principal = caller.principal
        for collection in catalogue.collections where names?.contains(collection.name) ?? true {
            let scope = SyncScope(collection, for: caller)
            guard scope.visible != .never else { continue }
            let rule = collection.entity.rows.read
            follow(collection.id, by: rule.groups.isEmpty ? rule : nil)
            for group in rule.groups { follow(CollectionID(collection.id.adapter, group.entity), by: nil) }
        }
    }

    private mutating func follow(_ id: CollectionID, by rule: RowRule?) {
        if case .some(nil) = rules[id] { return }
        rules[id] = .some(rule)
    }

    /// Whether the changes may be visible to the caller; true in doubt.
    public func isConcerned(by news: RowChanges) -> Bool {
        news.changes.contains { change in
            guard let rule = rules[change.collection] else { return false }
            guard let rule else { return true }
            if change.isGoneUnknown { return !rule.fields.isEmpty || holds(rule, [:]) }
            return change.states.contains { holds(rule, $0) }
        }
    }

    private func holds(_ rule: RowRule, _ values: WireDictionary) -> Bool {
        rule.holds(for: principal, values) { _, _, _ in true }
    }
}
