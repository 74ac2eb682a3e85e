import AdapterKit
import RecordStorage

/// Everything that a ``MemoryStore`` holds; a value, so that a copy is a moment.
public struct MemoryTables: Sendable {
    public internal(set) var position = Revision(0)
    public internal(set) var floor = Revision(0)
    var positions: [AdapterName: Revision] = [:]
    var collections: [CollectionID: MemoryCollection] = [:]
    /// The fields whose values before a change the log keeps.
    var scopeFields: [CollectionID: [FieldName]] = [:]
    /// The ids of deleted records that may have been private, and who deleted them; empty: nobody who could create them.
    var retired: [CollectionID: [RecordID: String]] = [:]
    var log: [LogEntry] = []
    var clients: [ClientID: PushClient] = [:]
    var outcomes: [ClientID: [Int64: PushOutcome]] = [:]
    var kept: [KeptCopy] = []

    public init() {}

    func collection(_ id: CollectionID) throws(PorticoError) -> MemoryCollection {
        guard let collection = collections[id] else {
            throw PorticoError(.serverInternal, "The collection \(id) is not installed.")
        }
        return collection
    }

    mutating func install(_ declarations: [CollectionDeclaration]) throws(PorticoError) {
        for declaration in declarations {
            let rules = try EntityRules(declaration.entity)
            collections[declaration.id, default: MemoryCollection(rules: rules)].rules = rules
            scopeFields[declaration.id] = declarations.scopeFields(of: declaration.id)
        }
    }

    mutating func compact(_ bound: CompactionBound) -> Compaction {
        let target =
            switch bound {
            case .through(let position): min(position, self.position)
            case .before(let time):
                log.first { $0.time.secondsSinceReferenceDate >= time.secondsSinceReferenceDate }
                    .map { Revision($0.position.number - 1) } ?? position
            }
        floor = max(floor, target)
        let gone = log.prefix { $0.position <= floor }.count
        log.removeFirst(gone)
        return Compaction(floor: floor, entries: gone, outcomes: forgetOutcomes())
    }

    private mutating func forgetOutcomes() -> Int {
        var removed = 0
        for (client, stored) in outcomes {
            let last = clients[client]?.lastSequence
            let rest = stored.filter { $0.value.position > floor || $0.key == last }
            removed += stored.count - rest.count
            outcomes[client] = rest
        }
        return removed
    }
}

/// One entity's records.
struct MemoryCollection: Sendable {
    var rules: EntityRules
    var records: [RecordID: Record] = [:]
    /// The largest integer key that was ever there.
    var largestKey: Int64 = 0

    var entity: Entity { rules.entity }

    init(rules: EntityRules) {
        self.rules = rules
    }
}
