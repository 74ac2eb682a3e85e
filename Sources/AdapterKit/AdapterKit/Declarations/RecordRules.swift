/// Rules of an adapter for its records beyond what their declarations can say: values that it alone understands,
/// references to other records, what goes with a record that goes.
///
/// Called for every change that is made on a caller's behalf, through any interface: the generic resource, a batch, a
/// device's push, the adapter's own operations and mounts. What an adapter writes on its own authority
/// (``AdapterContext/records``) is its own business, as it is with row rules.
///
/// A library is called within the transaction, while no other transaction writes. A worker is called between transactions:
/// its answer is used only in a transaction where each of its reads gives the same, and it is asked again otherwise. In
/// both, the methods may run more than once, and for changes that are not made in the end: they wait for nothing, keep
/// nothing and change nothing by themselves. What they throw refuses the whole transaction; a ``PorticoError`` is returned
/// to the caller.
public protocol RecordRules: Sendable {
    /// The change as it is to be made, and others that must be made before it.
    ///
    /// `record` is the one that is changed, as it is; nil where one is created. The caller may see and change it. The
    /// change keeps its entity, its kind and its record; fields that the rules give (``FieldSource/rules``) are not in it.
    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange

    /// Changes that ``prepare(_:of:in:)`` may put before one change, and a hundred times as many before all changes of one
    /// transaction. More are refused with `request.limitExceeded`, and nothing of the transaction is made.
    ///
    /// ``PreparedChange/maximumFirst`` where the rules do not say otherwise. A worker whose rules say more than 1,000 is
    /// refused when it declares itself.
    var maximumFirst: Int { get }

    /// Called with what the transaction leaves when all of its changes are made, for each record that was created or changed
    /// and is there.
    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws
}

extension RecordRules {
    /// ``PreparedChange/maximumFirst``.
    public var maximumFirst: Int { PreparedChange.maximumFirst }
}

/// A change, ready to be made.
public struct PreparedChange: Sendable, Equatable {
    /// Changes that ``first`` may hold where the rules do not say otherwise (``RecordRules/maximumFirst``). All other writes of the
    /// gateway wait while they are made.
    public static let maximumFirst = 100

    /// Made first, on the adapter's own authority and without asking the rules about them. At most
    /// ``RecordRules/maximumFirst``.
    public let first: [RecordChange]
    /// The change itself.
    public let change: RecordChange
    /// Whether ``first`` is refused where the caller may not write the records of one of its entities at all: for what
    /// follows from the change, such as what goes with a record that goes. Row rules are not asked. False for what the
    /// adapter keeps for itself.
    public let asksCaller: Bool

    /// Creates a prepared change with these values.
    public init(_ change: RecordChange, after first: [RecordChange] = [], askingCaller asksCaller: Bool = false) {
        self.first = first
        self.change = change
        self.asksCaller = asksCaller
    }

    /// Throws `request.limitExceeded` where more changes are put first, those of the same transaction with them.
    public func checkFirst(atMost limit: Int = maximumFirst, after earlier: Int = 0) throws(PorticoError) {
        guard first.count <= limit else {
            throw PorticoError(
                .requestLimitExceeded, "The adapter's rules put more than \(limit) changes before one.",
                logDetail: "\(first.count) changes before one of \(change.entity)")
        }
        let most = limit.multipliedReportingOverflow(by: Self.changesOfOneTransaction)
        guard most.overflow || earlier <= most.partialValue - first.count else {
            throw PorticoError(
                .requestLimitExceeded,
                "The adapter's rules put more than \(most.partialValue) changes before those of one transaction.",
                logDetail: "the last of them before one of \(change.entity)")
        }
    }

    private static let changesOfOneTransaction = 100
}

/// The transaction that rules are asked about. Valid only within their call.
public struct RecordRuleContext {
    /// All of the adapter's records, without row rules, as the transaction has left them so far.
    public let snapshot: any RecordSnapshot
    /// On whose behalf the change is made.
    public let caller: Principal
    /// The instant of the whole transaction.
    public let now: WireDate
    /// When a record is verified that the caller has changed: how it was before the transaction. Nil for a new one, and in a
    /// worker.
    public let earlier: Record?
    private let isKnown: ((RecordID, EntityName) throws -> Bool)?

    /// Creates a record rule context with these values. `isKnown` nil: the caller knows every record.
    public init(
        snapshot: any RecordSnapshot, caller: Principal, now: WireDate, earlier: Record? = nil,
        isKnown: ((RecordID, EntityName) throws -> Bool)? = nil
    ) {
        self.snapshot = snapshot
        self.caller = caller
        self.now = now
        self.earlier = earlier
        self.isKnown = isKnown
    }

    /// Whether the caller may know that a record of ``snapshot`` is there: it may read or change the record, or has made or
    /// changed it in the transaction. Rules answer a new reference to a record that the caller does not know as they answer one to
    /// a record that is not there; otherwise their refusals tell which records there are. In a worker always true.
    public func callerKnows(_ id: RecordID, in entity: EntityName) throws -> Bool {
        try isKnown?(id, entity) ?? true
    }
}

extension RecordChange {
    /// The record that it changes; nil where the server chooses the id of a new one.
    public var recordID: RecordID? {
        switch action {
        case .create(let id, _): id
        case .update(let id, _), .replace(let id, _, _), .delete(let id): id
        }
    }

    /// The fields that it names; none for a deletion.
    public var fields: WireDictionary {
        switch action {
        case .create(_, let fields), .update(_, let fields), .replace(_, let fields, _): fields
        case .delete: [:]
        }
    }

    /// The same change with other fields.
    public func setting(_ fields: WireDictionary) -> RecordChange {
        switch action {
        case .create(let id, _): RecordChange(entity, .create(id, fields), if: condition)
        case .update(let id, _): RecordChange(entity, .update(id, fields), if: condition)
        case .replace(let id, _, let orCreate):
            RecordChange(entity, .replace(id, fields, orCreate: orCreate), if: condition)
        case .delete: self
        }
    }

    /// Without what a caller sends for fields that the adapter's rules give.
    public func withoutRuled(_ entity: Entity) -> RecordChange {
        let ruled = entity.fields.filter { $0.source == .rules }.map(\.name.text)
        guard ruled.contains(where: { fields[$0] != nil }) else { return self }
        return setting(
            WireDictionary(uncheckedUniqueKeys: fields.filter { !ruled.contains($0.key) }.map { $0 }))
    }
}
