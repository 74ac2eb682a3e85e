extension WireValue {
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    public var boolValue: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// The integer, where it fits; a double is never taken for one.
    public var int64Value: Int64? {
        switch self {
        case .int64(let number): number
        case .uint64(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The number as a double: a double as it is, an integer where a double carries it exactly.
    public var doubleValue: Double? {
        switch self {
        case .double(let number): number
        case .int64(let number): Double(exactly: number)
        case .uint64(let number): Double(exactly: number)
        default: nil
        }
    }

    public var dateValue: WireDate? {
        if case .date(let instant) = self { instant } else { nil }
    }

    public var dataValue: [UInt8]? {
        if case .data(let bytes) = self { bytes } else { nil }
    }

    public var arrayValue: [WireValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    public var dictionaryValue: WireDictionary? {
        if case .dictionary(let members) = self { members } else { nil }
    }

    /// A member of a dictionary; nil for anything else.
    public subscript(key: String) -> WireValue? {
        dictionaryValue?[key]
    }
}

extension WireValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public typealias Key = String
    public typealias Value = WireValue

    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .int64(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: WireValue...) { self = .array(elements) }

    /// Two equal keys are a programmer's error and trap.
    public init(dictionaryLiteral elements: (String, WireValue)...) {
        var members = WireDictionary()
        for (key, value) in elements {
            // Cannot trap: literals in source code.
            precondition(members.insert(value, forKey: key), "duplicate key in a dictionary literal")
        }
        self = .dictionary(members)
    }
}
