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

/// base64url (RFC 4648, section 5), as OData's JSON and URLs have binary values: padding may be there.
public enum Base64URL {
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes).compactMap(urlSafe), as: UTF8.self)
    }

    /// Takes the standard alphabet too, which clients send.
    public static func decode(_ text: String) -> [UInt8]? {
        var standard = text.utf8.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Base64.decode(standard)
    }

    private static func urlSafe(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: byte
        }
    }
}
