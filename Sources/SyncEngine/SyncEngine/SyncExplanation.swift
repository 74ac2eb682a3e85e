import AdapterKit
import RecordStorage

/// Why a device of a caller has a record, or has it not.
public struct SyncExplanation: Sendable, Equatable {
    /// Whether the device has the record, and why not.
    public enum Verdict: String, Sendable {
        /// The device has it, or gets it with its next pull.
        case has
        /// The account may not read the collection at all.
        case noAccess
        /// The row rules leave it out.
        case hidden
        /// The record was deleted.
        case deleted
        /// The store never had it, or so long ago that the log no longer reaches back to it.
        case unknown
    }

    /// One condition of the row rules, and whether it holds.
    public struct Clause: Sendable, Equatable {
        /// Nesting within `any`, `all` and `not`.
        public let depth: Int
        public let text: String
        /// Whether it holds for the record and the caller.
        public let holds: Bool
    }

    /// The collection's name in messages.
    public let collection: String
    /// The record's id.
    public let id: String
    /// The result.
    public let verdict: Verdict
    /// The record's revision; nil where there is none.
    public let revision: Revision?
    /// The row rule's conditions; none where the record is not there.
    public let clauses: [Clause]
    /// The callers that may write any of the collection.
    public let writers: Access
    /// Whether the caller may change the record, or create it where it is not there: as far as that depends on what is there.
    public let mayWrite: Bool
    /// Newest first.
    public let history: [LogEntry]
    /// Values that were written and did not become the record, newest first.
    public let keptCopies: [KeptCopy]
}

extension SyncCatalogue {
    /// Log entries and kept copies that an explanation shows at most.
    public static let explainedEntries = 20

    /// A caller's text as a message has it: of bounded length, in every format.
    static func shown(_ name: String) -> String { String(name.prefix(64)).replacedForEveryFormat }

    /// Throws `request.invalid` for a collection that is not there or an id that cannot be.
    public func explain(
        _ id: String, in name: String, for caller: SyncCaller, at snapshot: any StoreSnapshot
    ) throws -> SyncExplanation {
        guard let collection = self[name] else {
            throw PorticoError(.requestInvalid, "There is no collection \(Self.shown(name)).", target: "record")
        }
        guard let id = RecordID(id) else {
            throw PorticoError(
                .requestInvalid, "A record is named by its collection and its id: \(collection.name)/ID.",
                target: "record")
        }
        let history = try snapshot.history(of: id, in: collection.id, limit: Self.explainedEntries)
        let record = try snapshot.record(id, in: collection.id, visible: nil)
        let clauses = try record.map { try self.clauses(of: collection, $0, caller, snapshot) } ?? []
        return SyncExplanation(
            collection: name, id: id.text, verdict: try verdict(collection, record, history, caller, snapshot),
            revision: record?.revision, clauses: clauses, writers: collection.writers,
            mayWrite: try mayWrite(collection, record, caller, snapshot), history: history,
            keptCopies: try snapshot.keptCopies(.of(id, in: collection.id), before: nil, limit: Self.explainedEntries))
    }

    private func mayWrite(
        _ collection: SyncCollection, _ record: Record?, _ caller: SyncCaller, _ snapshot: any StoreSnapshot
    ) throws -> Bool {
        guard collection.decision(for: caller, effect: .writes) == .allowed else { return false }
        let (rule, scope) = (collection.entity.rows.write, SyncScope(collection, for: caller))
        guard let record else { return rule != .nobody }
        return try [scope.visible, rule.filter(for: caller.principal)].allSatisfy {
            try snapshot.record(record.id, in: collection.id, visible: $0) != nil
        }
    }

    private func verdict(
        _ collection: SyncCollection, _ record: Record?, _ history: [LogEntry], _ caller: SyncCaller,
        _ snapshot: any StoreSnapshot
    ) throws -> SyncExplanation.Verdict {
        guard collection.decision(for: caller, effect: .reads) == .allowed else { return .noAccess }
        guard let record else { return history.first?.kind == .remove ? .deleted : .unknown }
        let scope = SyncScope(collection, for: caller)
        let seen = try snapshot.record(record.id, in: collection.id, visible: scope.visible)
        return seen == nil ? .hidden : .has
    }

    private func clauses(
        of collection: SyncCollection, _ record: Record, _ caller: SyncCaller, _ snapshot: any StoreSnapshot
    ) throws -> [SyncExplanation.Clause] {
        let memberships = GroupMemberships(RowHistory(snapshot: snapshot))
        return try collection.entity.rows.read.listed(depth: 0).map { depth, rule in
            let holds = try rule.holds(for: caller.principal, record.fields) { entity, id, members in
                try memberships.contains(
                    caller.principal, in: id, of: CollectionID(collection.id.adapter, entity), members,
                    at: snapshot.position)
            }
            return SyncExplanation.Clause(depth: depth, text: rule.words, holds: holds)
        }
    }
}

extension RowRule {
    /// The rule and those within it.
    fileprivate func listed(depth: Int) -> [(Int, RowRule)] {
        let inner: [RowRule] =
            switch self {
            case .any(let rules), .all(let rules): rules
            case .not(let rule): [rule]
            default: []
            }
        return [(depth, self)] + inner.flatMap { $0.listed(depth: depth + 1) }
    }

    fileprivate var words: String {
        switch self {
        case .everyone: "everyone"
        case .nobody: "nobody"
        case .owner(let field): "`\(field)` is the account's name"
        case .sharedWith(let field): "`\(field)` names the account"
        case .attributeEquals(let field, let attribute): "`\(field)` equals the account's `\(attribute)`"
        case .signedIn: "signed in"
        case .hasRole(let role): "has the role \(role)"
        case .fieldIsOneOf(let field, _): "`\(field)` is one of the values that the rule lists"
        case .memberOf(let entity, let field, let members):
            "the account is among `\(members)` of the \(entity) record that `\(field)` names"
        case .not: "not:"
        case .any: "any of:"
        case .all: "all of:"
        }
    }
}
