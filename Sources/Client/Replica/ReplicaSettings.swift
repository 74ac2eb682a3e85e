import Foundation

/// What an app decides about its replica.
public struct ReplicaSettings: Sendable {
    /// What the replica holds. Nil: every record of every collection that the account may read.
    public var collections: [String]?
    public var limits: SyncLimits
    /// Fields by collection that the app orders or filters by: each gets an index. Changing them costs one pass over the
    /// collection at the next start.
    public var indexes: [String: [FieldIndex]]
    /// Fields by collection that lie encrypted on the device. They cannot be asked for. Edits that wait, and attachments,
    /// are encrypted as a whole where there is a cipher.
    public var sensitiveFields: [String: Set<String>]
    public var cipher: (any FieldCipher)?
    public var clock: any Clock<Duration>
    /// 1 to 64 letters, digits, `-`, `_` and `.` that nobody else has.
    public var makeID: @Sendable () -> String

    public init(
        collections: [String]? = nil, limits: SyncLimits = SyncLimits(),
        indexes: [String: [FieldIndex]] = [:], sensitiveFields: [String: Set<String>] = [:],
        cipher: (any FieldCipher)? = nil, clock: any Clock<Duration> = ContinuousClock(),
        makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        self.collections = collections
        self.limits = limits
        self.indexes = indexes
        self.sensitiveFields = sensitiveFields
        self.cipher = cipher
        self.clock = clock
        self.makeID = makeID
    }
}

/// Fields of a collection that an app filters or orders by, together: the first by equality, the last by range or order.
/// One field is written as a text, several as a list.
public struct FieldIndex: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    public let fields: [String]

    public init(_ fields: [String]) { self.fields = fields }
    public init(stringLiteral field: String) { fields = [field] }
    public init(arrayLiteral fields: String...) { self.fields = fields }
}

extension [FieldIndex] {
    /// Each once.
    var fields: Set<[String]> { Set(map(\.fields)) }
}
