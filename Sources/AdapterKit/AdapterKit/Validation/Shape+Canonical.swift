extension Shape {
    /// The one spelling of a value that passed ``check(_:at:)``, as stores keep it: a double field's number is a double
    /// (never `-0.0`, which SQL databases do not tell from `0.0`), a decimal's is a decimal, an integer fits 64 bits.
    public func canonical(_ value: WireValue) -> WireValue {
        switch self {
        case .integer: value.int64Value.map { .int64($0) } ?? value
        case .double: value.exactDouble.map { .double($0 == 0 ? 0 : $0) } ?? value
        case .decimal: value.exactDecimal.map { .decimal($0) } ?? value
        case .list(let element): value.arrayValue.map { .array($0.map(element.canonical)) } ?? value
        case .object(let shape): value.dictionaryValue.map { .dictionary(shape.canonical($0)) } ?? value
        default: value
        }
    }
}

extension ObjectShape {
    func canonical(_ value: WireDictionary) -> WireDictionary {
        var result = value
        for member in members {
            guard let sent = value[member.name.text], !sent.isNull else { continue }
            result[member.name.text] = member.shape.canonical(sent)
        }
        return result
    }
}
