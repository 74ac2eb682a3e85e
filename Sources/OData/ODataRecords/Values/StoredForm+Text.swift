import AdapterKit
import ODataModel

extension StoredForm {
    /// A stored value as OData spells it outside of quotes: `$value`'s body, and a key's text. Nil for what has no text.
    public func text(of value: WireValue, type: TypeReference) -> String? {
        switch type.type {
        case .enumeration(let name): value.int64Value.flatMap { model.enumeration(name)?.text(of: $0) }
        default: model.primitive(behind: type.type).flatMap { Self.text(of: value, $0) }
        }
    }

    public static func text(of value: WireValue, _ type: PrimitiveType) -> String? {
        switch (type, value) {
        case (.duration, _): value.decimalValue.map(DurationText.text)
        case (.decimal, _): value.decimalValue.map(\.description)
        case (.single, .double(let number)): floating(number, shortest: Float(number).description)
        case (_, .double(let number)): floating(number, shortest: number.description)
        case (_, .string(let text)): text
        case (_, .bool(let flag)): flag ? "true" : "false"
        case (_, .int64(let number)): String(number)
        case (_, .date(let instant)): instant.rfc3339
        case (_, .data(let bytes)): Base64URL.encode(bytes)
        default: nil
        }
    }

    private static func floating(_ number: Double, shortest: String) -> String {
        guard number.isFinite else { return number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF" }
        return shortest.hasSuffix(".0") ? String(shortest.dropLast(2)) : shortest
    }
}

extension WireValue {
    /// A number as a decimal; nil for what is none.
    public var decimalValue: WireDecimal? {
        switch self {
        case .int64(let number): WireDecimal(number)
        case .uint64(let number): WireDecimal(number)
        case .decimal(let number): number
        case .double(let number): number.isFinite ? WireDecimal(number.description) : nil
        default: nil
        }
    }
}
