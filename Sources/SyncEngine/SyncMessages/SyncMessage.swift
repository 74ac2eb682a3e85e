import ValueTree

/// A member that a message lacks, or holds in another shape. Safe to show: it names members, never values.
public struct SyncMessageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The member, such as `mutations.sequence`.
    public let member: String
    /// The expected value of the member, in words.
    public let expected: String

    /// Reports that `member` is not `expected`.
    public init(_ member: String, expected: String) {
        self.member = member
        self.expected = expected
    }

    public var description: String { "`\(member)` is not \(expected)" }
}

/// A message that every wire format carries. Members that are not known are passed over, so that either side may be
/// older than the other; a member that is null is one that is not there.
public protocol SyncMessage: Sendable, Equatable {
    /// Reads the message. Throws for a missing member and for one of another type; ignores unknown members.
    init(from value: WireValue) throws(SyncMessageError)
    /// The message as a value tree.
    var wireValue: WireValue { get }
}

extension WireValue {
    package func member(_ name: String) -> WireValue? {
        guard let value = self[name], !value.isNull else { return nil }
        return value
    }

    package func text(_ name: String) throws(SyncMessageError) -> String {
        guard let text = try optionalText(name) else { throw SyncMessageError(name, expected: "a string") }
        return text
    }

    package func optionalText(_ name: String) throws(SyncMessageError) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.stringValue else { throw SyncMessageError(name, expected: "a string") }
        return text
    }

    package func integer(_ name: String) throws(SyncMessageError) -> Int64 {
        guard let number = try optionalInteger(name) else { throw SyncMessageError(name, expected: "an integer") }
        return number
    }

    package func optionalInteger(_ name: String) throws(SyncMessageError) -> Int64? {
        guard let value = member(name) else { return nil }
        guard let number = value.int64Value else { throw SyncMessageError(name, expected: "an integer") }
        return number
    }

    package func optionalFields(_ name: String) throws(SyncMessageError) -> WireDictionary? {
        guard let value = member(name) else { return nil }
        guard let fields = value.dictionaryValue else { throw SyncMessageError(name, expected: "a dictionary") }
        return fields
    }

    package func optionalTexts(_ name: String) throws(SyncMessageError) -> [String]? {
        guard member(name) != nil else { return nil }
        return try list(name) { (item) throws(SyncMessageError) in
            guard let text = item.stringValue else { throw SyncMessageError(name, expected: "a list of strings") }
            return text
        }
    }

    package func list<Item>(_ name: String, _ read: (WireValue) throws(SyncMessageError) -> Item)
        throws(SyncMessageError)
        -> [Item]
    {
        guard let values = member(name)?.arrayValue else { throw SyncMessageError(name, expected: "a list") }
        var items: [Item] = []
        items.reserveCapacity(values.count)
        for value in values { items.append(try read(value)) }
        return items
    }
}

extension WireDictionary {
    /// The entries that have a value: what is nil is left out of a message.
    package init(present entries: [(String, WireValue?)]) {
        self.init()
        for (key, value) in entries { self[key] = value }
    }
}

/// A record's fields: a tree, or what a caller has read of a message and makes a tree of when it is asked for.
public struct RecordFields: Sendable {
    private enum Form {
        case tree(WireDictionary)
        case written(any WrittenFields)
    }

    private let form: Form

    /// Fields as a tree.
    public init(_ tree: WireDictionary) { form = .tree(tree) }
    /// Fields that are read when they are asked for.
    public init(_ written: any WrittenFields) { form = .written(written) }

    /// Made anew each time where they are ``written``.
    public var tree: WireDictionary {
        switch form {
        case .tree(let tree): tree
        case .written(let written): written.tree
        }
    }

    /// Nil where there is a tree.
    public var written: (any WrittenFields)? {
        if case .written(let written) = form { written } else { nil }
    }
}

/// Fields as they lie in a message that was read and found valid.
public protocol WrittenFields: Sendable {
    /// The fields as a tree.
    var tree: WireDictionary { get }
}

extension RecordFields: Equatable {
    public static func == (left: RecordFields, right: RecordFields) -> Bool { left.tree == right.tree }
}

extension RecordFields: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, WireValue)...) {
        var tree = WireDictionary()
        for (name, value) in elements { tree[name] = value }
        self.init(tree)
    }
}

/// Tells whether two sides have the same revisions of the same records, whatever way and order they came in.
///
/// The sum, modulo 2^64, of one number for each record: FNV-1a over the UTF-8 of collection, id and the revision's
/// decimal digits with a zero byte after each, its bits then mixed by SplitMix64's last steps. A sum, so that records
/// are added and taken away one by one; ids and revisions alone, so that no wire format can change it. It finds
/// accidents, not forgeries.
public struct ScopeChecksum: Sendable, Equatable {
    /// Records in the sum.
    public private(set) var count: Int
    /// The sum of their numbers, modulo 2^64.
    public private(set) var sum: UInt64

    /// Goes on from what was written down.
    public init(count: Int = 0, sum: UInt64 = 0) {
        self.count = count
        self.sum = sum
    }

    /// Adds a record's revision.
    public mutating func add(collection: String, id: String, rev: Int64) {
        count += 1
        sum &+= Self.number(collection, id, rev)
    }

    /// Takes a record's revision away.
    public mutating func remove(collection: String, id: String, rev: Int64) {
        count -= 1
        sum &-= Self.number(collection, id, rev)
    }

    /// Sixteen hexadecimal digits, in lower case.
    public var text: String {
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func number(_ collection: String, _ id: String, _ rev: Int64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for part in [collection, id, String(rev)] {
            for byte in part.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            hash = hash &* 0x100_0000_01B3
        }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }
}
