import AdapterKit
import ODataModel

/// Values as records hold them (``FieldShapes`` has the table), made of OData's texts and given back as such.
public struct StoredForm: Sendable {
    let model: EntityDataModel

    public init(model: EntityDataModel) {
        self.model = model
    }

    /// The value of a text as OData spells it outside of URLs' quotes: `2024-01-15`, `P1D`, `InStock,OnSale`. Nil where
    /// the text is none of the type's, or the type has no such texts.
    public func value(text: String, type: TypeReference) -> WireValue? {
        switch type.type {
        case .primitive(let primitive): Self.value(text: text, primitive)
        case .definition(let name): model.definition(name).flatMap { Self.value(text: text, $0.underlying) }
        case .enumeration(let name): model.enumeration(name)?.value(of: text).map(WireValue.int64)
        case .complex, .entity, .abstract: nil
        }
    }

    public static func value(text: String, _ type: PrimitiveType) -> WireValue? {
        switch type {
        case .string: return .string(text)
        case .guid: return guid(text).map(WireValue.string)
        case .boolean: return text == "true" ? true : text == "false" ? false : nil
        case .byte, .sByte, .int16, .int32, .int64:
            // Cannot trap: integers have ranges.
            guard let number = Int64(text), type.integerRange!.contains(number) else { return nil }
            return .int64(number)
        case .double, .single: return double(text, type)
        case .decimal: return WireDecimal(text).map(decimal)
        case .date: return CalendarText.date(text).map(WireValue.string)
        case .timeOfDay: return CalendarText.timeOfDay(text).map(WireValue.string)
        case .dateTimeOffset: return CalendarText.instant(text).map(WireValue.date)
        case .duration: return DurationText.seconds(text).map(decimal)
        case .binary: return Base64URL.decode(lenient: text).map(WireValue.data)
        default: return nil
        }
    }

    /// An integer where it is one, so that equal numbers are equal values.
    public static func decimal(_ number: WireDecimal) -> WireValue {
        number.exponent == 0 && number.digits.utf8.count < 18
            // Cannot trap: fewer than 18 digits.
            ? .int64((number.isNegative ? -1 : 1) * Int64(number.digits)!) : .decimal(number)
    }

    private static func double(_ text: String, _ type: PrimitiveType) -> WireValue? {
        switch text {
        case "INF": return .double(.infinity)
        case "-INF": return .double(-.infinity)
        case "NaN": return .double(.nan)
        default:
            guard WireDecimal(text) != nil, let number = Double(text), number.isFinite else { return nil }
            return .double(type == .single ? Double(Float(number)) : number)
        }
    }

    private static func guid(_ text: String) -> String? {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        let isHex = groups.allSatisfy { $0.allSatisfy { byte in Character(Unicode.Scalar(byte)).isHexDigit } }
        return isHex ? text.lowercased() : nil
    }
}
