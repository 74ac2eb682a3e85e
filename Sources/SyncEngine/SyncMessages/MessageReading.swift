import ValueTree

/// What a message lacks, or holds in another shape. Safe to show: it names members, never values.
public struct MessageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The member, such as `mutations.sequence`.
    public let member: String
    public let expected: String

    public init(_ member: String, expected: String) {
        self.member = member
        self.expected = expected
    }

    public var description: String { "`\(member)` is not \(expected)" }
}

/// A message that every wire format carries. Members that are not known are passed over, so that either side may be
/// older than the other; a member that is null is one that is not there.
public protocol SyncMessage: Sendable, Equatable {
    init(from value: WireValue) throws(MessageError)
    var wireValue: WireValue { get }
}

extension WireValue {
    package func member(_ name: String) -> WireValue? {
        guard let value = self[name], !value.isNull else { return nil }
        return value
    }

    package func text(_ name: String) throws(MessageError) -> String {
        guard let text = try optionalText(name) else { throw MessageError(name, expected: "a string") }
        return text
    }

    package func optionalText(_ name: String) throws(MessageError) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.stringValue else { throw MessageError(name, expected: "a string") }
        return text
    }

    package func integer(_ name: String) throws(MessageError) -> Int64 {
        guard let number = try optionalInteger(name) else { throw MessageError(name, expected: "an integer") }
        return number
    }

    package func optionalInteger(_ name: String) throws(MessageError) -> Int64? {
        guard let value = member(name) else { return nil }
        guard let number = value.int64Value else { throw MessageError(name, expected: "an integer") }
        return number
    }

    package func optionalFields(_ name: String) throws(MessageError) -> WireDictionary? {
        guard let value = member(name) else { return nil }
        guard let fields = value.dictionaryValue else { throw MessageError(name, expected: "a dictionary") }
        return fields
    }

    package func optionalTexts(_ name: String) throws(MessageError) -> [String]? {
        guard member(name) != nil else { return nil }
        return try list(name) { (item) throws(MessageError) in
            guard let text = item.stringValue else { throw MessageError(name, expected: "a list of strings") }
            return text
        }
    }

    package func list<Item>(_ name: String, _ read: (WireValue) throws(MessageError) -> Item) throws(MessageError)
        -> [Item]
    {
        guard let values = member(name)?.arrayValue else { throw MessageError(name, expected: "a list") }
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
