import AdapterKit

/// A store whose collections can be brought to the state of another system's snapshot.
public protocol MirrorStore: Store {
    /// Begins to gather a snapshot of a collection, outside of its records. What an earlier replacement of the collection
    /// gathered and did not apply is removed.
    func beginReplacement(of collection: CollectionID) async throws -> any RecordReplacement
}

/// The members of ``StoreSnapshot/mirrorState(of:)`` that others than the mirror itself look at.
public enum MirrorStateField {
    /// When the other system had the state that the records have: a date.
    public static let asOf = "asOf"
    /// The member with the times at which the other system had rows of single callers, a date by ``RowOwner/text``.
    public static let callers = "callers"
}

/// To whom a row belongs that was fetched in a caller's name: an account with a set of its roles.
public struct RowOwner: Sendable, Hashable {
    /// The account's.
    public let name: String
    /// ``Principal/roleList``.
    public let roles: String

    /// The caller's account, with the roles that the credential has.
    public init(_ caller: Principal) {
        name = caller.name
        roles = caller.roleList
    }

    /// As it is stored: no role has a slash.
    public var text: String { "\(roles)/\(name)" }
}

/// A snapshot of a collection that comes piece by piece, compared by key with the records that are there.
///
/// Readers see the records as they were until ``apply(_:)`` has succeeded, and as the snapshot has them from then on. No
/// method holds up other callers' writes for longer than one piece takes. What others change in the collection after
/// ``start`` stays as they left it. For one caller at a time; every method throws ``PorticoError``.
public protocol RecordReplacement: Sendable {
    /// The position of the store when the replacement began.
    var start: Revision { get }

    /// Adds rows of the snapshot. A row is unchanged where every value that the server does not give equals the record's:
    /// numbers, instants and texts by what they mean, not by how they are spelled. Of rows with one key the first counts.
    /// A field that a draft lacks is not declared where it was made, while others serve a declaration that has it: its value
    /// stays where there is a record, and is its default elsewhere.
    ///
    /// `keeping`: records that the snapshot has in a form that cannot be taken; they stay as they are.
    func stage(_ rows: [RecordDraft], keeping: [RecordID], _ fields: StagedFields) async throws

    /// The changes that ``apply(_:)`` would make, as far as others do not change the records meanwhile.
    func difference() async throws -> ReplacementDifference

    /// Some of the records that ``apply(_:)`` would change, at most `limit` of each kind.
    func sample(_ limit: Int, _ options: ReplacementOptions) async throws -> ReplacementSample

    /// Makes the collection what the snapshot is. To be called once.
    func apply(_ options: ReplacementOptions) async throws -> ReplacementResult

    /// Removes what was gathered. Does nothing after ``apply(_:)``, and may be called twice.
    func discard() async throws
}

/// The known fields of staged rows.
public struct StagedFields: Sendable, Equatable {
    /// Fields that the rows do not have, whose values stay where there is a record.
    public var retained: Set<FieldName>
    /// Fields that no earlier snapshot had: rows that differ in them alone are counted as ``ReplacementDifference/extended``.
    public var added: Set<FieldName>

    /// Creates a value. Without arguments: the rows have all fields, and so had earlier ones.
    public init(retained: Set<FieldName> = [], added: Set<FieldName> = []) {
        self.retained = retained
        self.added = added
    }
}

/// Some of what a snapshot changes.
public struct ReplacementSample: Sendable, Equatable {
    /// A record that gets other values.
    public struct Change: Sendable, Equatable {
        /// As it is.
        public var before: Record
        /// As it would be.
        public var after: Record

        /// Creates a change of one record.
        public init(before: Record, after: Record) { (self.before, self.after) = (before, after) }
    }

    /// Records that are not there yet.
    public var created: [Record] = []
    /// Records that get other values.
    public var updated: [Change] = []
    /// Records that go.
    public var deleted: [Record] = []

    /// Nothing changes.
    public init() {}
}

/// The difference between a snapshot and the records that are there.
public struct ReplacementDifference: Sendable, Equatable {
    /// The records that are there.
    public var known = 0
    /// Rows without a record of their key.
    public var created = 0
    /// Rows that differ from the record of their key.
    public var updated = 0
    /// Rows of ``updated`` that differ in added fields alone (``StagedFields/added``). Not counted of what was done.
    public var extended = 0
    /// Records without a row.
    public var deleted = 0
    /// Rows that repeat the key of an earlier one.
    public var repeated = 0

    /// Changes of every kind.
    public var changes: Int { created + updated + deleted }

    /// A snapshot that differs in nothing from no records.
    public init() {}
}

/// The way in which a snapshot takes the records' place.
public struct ReplacementOptions: Sendable {
    /// Up to this many changes are made one by one in one transaction, each with its log entry. More take effect with one
    /// log entry, after which replicas fetch the collection again.
    public var transactionLimit = 5_000
    /// Whether rows that are missing are deleted.
    public var deletesMissing = true
    /// Records that are deleted although no row is missing for them.
    public var removing: Set<RecordID> = []
    /// The state of the mirror afterwards, stored in the same transaction; nil: none is stored.
    public var state: WireDictionary?
    /// Further records that stay as they are, asked in the transaction that makes the changes: those that others changed
    /// and the other system does not know of yet.
    public var protecting: @Sendable (any StoreSnapshot) throws -> Set<RecordID>

    /// The defaults.
    public init(
        state: WireDictionary? = nil,
        protecting: @escaping @Sendable (any StoreSnapshot) throws -> Set<RecordID> = { _ in [] }
    ) {
        self.state = state
        self.protecting = protecting
    }
}

/// The result of a replacement, once it is durable.
public struct ReplacementResult: Sendable, Equatable {
    /// The log position that contains it.
    public let position: Revision
    /// The changes, without the records that stayed as others had left them.
    public let difference: ReplacementDifference
    /// Whether replicas fetch the collection again.
    public let isWhole: Bool

    /// Creates the result of a replacement.
    public init(position: Revision, difference: ReplacementDifference, isWhole: Bool) {
        self.position = position
        self.difference = difference
        self.isWhole = isWhole
    }
}

extension RecordReplacement {
    /// Adds rows that have all fields.
    public func stage(_ rows: [RecordDraft], keeping: [RecordID]) async throws {
        try await stage(rows, keeping: keeping, StagedFields())
    }
}

/// A record as a row of a snapshot makes it.
public struct MergedRow: Sendable {
    /// All fields in declared order.
    public let fields: WireDictionary
    /// Whether it differs from the record in added fields alone.
    public let isExtended: Bool
}

extension Entity {
    /// A row of a snapshot as the record that is there would be with it: what the server gives stays, but for the time of
    /// the change, and so do retained fields and those that the draft lacks. Nil where nothing differs. The record has all
    /// fields in declared order.
    public func merging(
        _ row: RecordDraft, into record: Record, at time: WireDate, _ staged: StagedFields = StagedFields()
    ) -> MergedRow? {
        merging(into: record, at: time, added: staged.added) { field in
            staged.retained.contains(field.name) ? nil : row.fields[field.name.text]
        }
    }

    /// The same for the fields of a whole row, of which those that are null may be left out.
    public func merging(_ fields: WireDictionary, into record: Record, at time: WireDate) -> WireDictionary? {
        merging(into: record, at: time, added: []) { fields[$0.name.text] ?? .null }?.fields
    }

    /// `given`: the row's value; nil: the record's stays.
    private func merging(
        into record: Record, at time: WireDate, added: Set<FieldName>, _ given: (Field) -> WireValue?
    ) -> MergedRow? {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(fields.count)
        var (isChanged, isExtended) = (false, false)
        for field in fields {
            let old = record[field.name]
            let value: WireValue
            switch field.source {
            case .caller, .callerOnCreate, .rules:
                value = given(field) ?? old
                if !value.meansTheSame(as: old) {
                    if added.contains(field.name) { isExtended = true } else { isChanged = true }
                }
            case .creator, .createdAt, .createdPosition: value = old
            case .modifiedAt: value = .date(time)
            }
            entries.append(WireDictionary.Entry(key: field.name.text, value: value))
        }
        guard isChanged || isExtended else { return nil }
        return MergedRow(fields: WireDictionary(uncheckedUniqueKeys: entries), isExtended: !isChanged)
    }

    /// The fields of a draft that may lack some: those have their defaults. In declared order.
    public func completing(_ row: RecordDraft) -> WireDictionary {
        guard row.fields.count < fields.count else { return row.fields }
        let entries = fields.map { field in
            let value = row.fields[field.name.text] ?? field.defaultValue.map { field.shape.canonical($0) } ?? .null
            return WireDictionary.Entry(key: field.name.text, value: value)
        }
        return WireDictionary(uncheckedUniqueKeys: entries)
    }
}
