import AdapterKit

/// A value that crosses between host and worker.
///
/// A structure crosses as a map of its properties by their names, without those that are nil. A case of an enumeration
/// crosses as its name, or as a map of one member, its name, where it has values.
public protocol MessageValue {
    /// The value as it crosses.
    var message: WireValue { get }

    /// Reads what has crossed. Throws ``MessageError``; no value traps.
    init(message: WireValue) throws
}

/// The members of a map that has crossed. Members that are not known are left alone, so that a later version can add some.
public struct MessageMap: Sendable {
    /// The members.
    public let members: WireDictionary

    /// Throws ``MessageError`` for what is no map.
    public init(_ value: WireValue) throws {
        guard case .dictionary(let members) = value else { throw MessageError("a map is expected") }
        self.members = members
    }

    /// A member that must be there.
    public func callAsFunction<Value: MessageValue>(_ key: String, as type: Value.Type = Value.self) throws -> Value {
        guard let value = members[key] else { throw MessageError("it is missing", at: key) }
        return try Self.read(value, key)
    }

    /// A member that may be left out, or be null.
    public func optional<Value: MessageValue>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let value = members[key], !value.isNull else { return nil }
        return try Self.read(value, key)
    }

    /// A member that may be left out.
    public func callAsFunction<Value: MessageValue>(_ key: String, default value: Value) throws -> Value {
        try optional(key) ?? value
    }

    private static func read<Value: MessageValue>(_ value: WireValue, _ key: String) throws -> Value {
        do { return try Value(message: value) } catch let error as MessageError { throw error.within(key) }
    }
}

/// A case of an enumeration that has crossed.
struct MessageCase {
    let name: String
    /// Null for a case without values.
    let content: WireValue

    init(_ value: WireValue) throws {
        switch value {
        case .string(let name): (self.name, content) = (name, .null)
        case .dictionary(let members) where members.count == 1:
            (name, content) = (members.entries[0].key, members.entries[0].value)
        default: throw MessageError("a case of an enumeration is expected")
        }
    }

    /// The content of the case.
    func value<Value: MessageValue>(as type: Value.Type = Value.self) throws -> Value {
        do { return try Value(message: content) } catch let error as MessageError { throw error.within(name) }
    }

    /// The content, where it is a map.
    var map: MessageMap {
        get throws {
            do { return try MessageMap(content) } catch let error as MessageError { throw error.within(name) }
        }
    }

    var unknown: MessageError { MessageError("there is no such case here") }
}

extension WireValue {
    /// A map of the members that are there.
    static func map(_ members: (String, WireValue?)...) -> WireValue {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(members.count)
        for case (let key, let value?) in members { entries.append(.init(key: key, value: value)) }
        // The names are literals, each once.
        return .dictionary(WireDictionary(uncheckedUniqueKeys: entries))
    }

    /// A case of an enumeration with its content.
    static func named(_ name: String, _ content: WireValue) -> WireValue {
        .dictionary(WireDictionary(uncheckedUniqueKeys: [.init(key: name, value: content)]))
    }
}

extension WireValue: MessageValue {
    public var message: WireValue { self }
    public init(message: WireValue) { self = message }
}

extension WireDictionary: MessageValue {
    public var message: WireValue { .dictionary(self) }
    public init(message: WireValue) throws { self = try MessageMap(message).members }
}

extension String: MessageValue {
    public var message: WireValue { .string(self) }
    public init(message: WireValue) throws {
        guard case .string(let text) = message else { throw MessageError("a text is expected") }
        self = text
    }
}

extension Bool: MessageValue {
    public var message: WireValue { .bool(self) }
    public init(message: WireValue) throws {
        guard case .bool(let flag) = message else { throw MessageError("true or false is expected") }
        self = flag
    }
}

extension Int64: MessageValue {
    public var message: WireValue { .int64(self) }
    public init(message: WireValue) throws {
        guard case .int64(let number) = message else { throw MessageError("an integer is expected") }
        self = number
    }
}

extension Int: MessageValue {
    public var message: WireValue { .int64(Int64(self)) }
    public init(message: WireValue) throws {
        guard let number = Int(exactly: try Int64(message: message)) else {
            throw MessageError("an integer is expected")
        }
        self = number
    }
}

extension UInt64: MessageValue {
    public var message: WireValue { Int64(exactly: self).map(WireValue.int64) ?? .uint64(self) }
    public init(message: WireValue) throws {
        switch message {
        case .int64(let number) where number >= 0: self = UInt64(number)
        case .uint64(let number): self = number
        default: throw MessageError("an integer that is not negative is expected")
        }
    }
}

extension Double: MessageValue {
    public var message: WireValue { .double(self) }
    public init(message: WireValue) throws {
        guard let number = message.doubleValue else { throw MessageError("a number is expected") }
        self = number
    }
}

extension WireDate: MessageValue {
    public var message: WireValue { .date(self) }
    public init(message: WireValue) throws {
        guard case .date(let date) = message else { throw MessageError("a date is expected") }
        self = date
    }
}

/// A number of nanoseconds.
extension Duration: MessageValue {
    public var message: WireValue {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return .int64(overflow || overflows ? (seconds < 0 ? .min : .max) : sum)
    }

    public init(message: WireValue) throws { self = .nanoseconds(try Int64(message: message)) }
}

/// Bytes.
struct MessageBytes: MessageValue {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var message: WireValue { .data(bytes) }
    init(message: WireValue) throws {
        guard case .data(let bytes) = message else { throw MessageError("bytes are expected") }
        self.bytes = bytes
    }
}

extension Array: MessageValue where Element: MessageValue {
    public var message: WireValue { .array(map(\.message)) }
    public init(message: WireValue) throws {
        guard case .array(let items) = message else { throw MessageError("an array is expected") }
        self = []
        reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            do {
                append(try Element(message: item))
            } catch let error as MessageError {
                throw error.within("[\(index)]")
            }
        }
    }
}

extension Set: MessageValue where Element: MessageValue & Comparable {
    public var message: WireValue { sorted().message }
    public init(message: WireValue) throws { self.init(try [Element](message: message)) }
}

extension Dictionary: MessageValue where Key == String, Value: MessageValue {
    public var message: WireValue {
        .dictionary(
            WireDictionary(
                uncheckedUniqueKeys: sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value.message) }))
    }

    public init(message: WireValue) throws {
        self = [:]
        for member in try MessageMap(message).members.entries {
            do {
                self[member.key] = try Value(message: member.value)
            } catch let error as MessageError {
                throw error.within(member.key)
            }
        }
    }
}

extension Optional: MessageValue where Wrapped: MessageValue {
    public var message: WireValue { self?.message ?? .null }
    public init(message: WireValue) throws { self = message.isNull ? nil : try Wrapped(message: message) }
}

extension MessageValue where Self: ValidatedName {
    public var message: WireValue { .string(text) }
    public init(message: WireValue) throws {
        guard let name = Self(try String(message: message)) else { throw MessageError("this cannot be such a name") }
        self = name
    }
}

extension AdapterName: MessageValue {}
extension EntityName: MessageValue {}
extension FieldName: MessageValue {}
extension OperationName: MessageValue {}
extension RoleName: MessageValue {}
extension RecordID: MessageValue {}
extension LiveFeedName: MessageValue {}
extension EventName: MessageValue {}
extension PushPlatform: MessageValue {}
extension UpstreamName: MessageValue {}

extension MessageValue where Self: RawRepresentable, RawValue == String {
    public var message: WireValue { .string(rawValue) }
    public init(message: WireValue) throws {
        guard let value = Self(rawValue: try String(message: message)) else {
            throw MessageError("there is no such case here")
        }
        self = value
    }
}

extension LogLevel: MessageValue {}
extension Comparison: MessageValue {}
extension HTTPMethod: MessageValue {}
extension MirrorChange.Kind: MessageValue {}
extension MirrorSource.Writing: MessageValue {}
extension MirrorRefusal.Kind: MessageValue {}
extension UpstreamFailure.Kind: MessageValue {}
extension UpstreamRequest.Method: MessageValue {}
extension RowExpression.Arithmetic: MessageValue {}
extension RowExpression.Aggregate: MessageValue {}
extension RowFunction: MessageValue {}
extension RowValueType: MessageValue {}
