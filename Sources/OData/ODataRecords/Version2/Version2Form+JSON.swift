import AdapterKit
import ODataModel

/// A simple value as JSON has it.
public enum Version2JSON: Sendable, Hashable {
    /// A number, `true`, `false` or `null`, as it stands.
    case plain(String)
    /// Within quotes.
    case text(String)
}

extension Version2Form {
    /// Nil for what is not simple.
    public func json(_ value: WireValue, _ type: TypeReference) -> Version2JSON? {
        simple(type).flatMap { json(value, as: $0, type) }
    }

    /// The same where the type's own in version 2 is known already, as it is for all rows of a feed.
    public func json(_ value: WireValue, as simple: Version2Type, _ type: TypeReference) -> Version2JSON? {
        guard !value.isNull else { return .plain("null") }
        switch simple {
        case .dateTime: return Version2Instant.ticks(value).map { .text("/Date(\($0))/") }
        case .dateTimeOffset: return Version2Instant.ticks(value).map { .text("/Date(\($0)+0000)/") }
        case .boolean, .byte, .sByte, .int16, .int32: return text(of: value, as: simple, type).map(Version2JSON.plain)
        case .double, .single:
            guard let text = text(of: value, as: simple, type) else { return nil }
            return value.doubleValue?.isFinite == false ? .text(text) : .plain(text)
        default: return text(of: value, as: simple, type).map(Version2JSON.text)
        }
    }

    /// The value of JSON's. Numbers come as texts too, instants as XML has them. Nil for what is none of the type's, and
    /// for null.
    public func value(json: WireValue, _ type: TypeReference) -> WireValue? {
        if let text = json.stringValue {
            if let instant = Version2Instant.value(ticks: text) {
                guard let simple = simple(type), simple == .dateTime || simple == .dateTimeOffset else {
                    return simple(type) == .string ? value(text: text, type) : nil
                }
                return value(instant: instant, type)
            }
            return value(text: text, type)
        }
        if case .bool(let flag) = json { return simple(type) == .boolean ? .bool(flag) : nil }
        guard let number = json.decimalValue, let simple = simple(type), Self.numbers.contains(simple) else {
            return nil
        }
        let isWhole = model.primitive(behind: type.type)?.isInteger == true
        let text = isWhole ? json.int64Value.map { String($0) } ?? Self.whole(json) : number.description
        return text.flatMap { stored.value(text: $0, type: type) }
    }

    /// `2.0` where JSON's reader made a double of it.
    private static func whole(_ json: WireValue) -> String? {
        guard case .double(let number) = json else { return nil }
        return Int64(exactly: number).map { String($0) }
    }

    private static let numbers: Set<Version2Type> = [
        .byte, .sByte, .int16, .int32, .int64, .decimal, .double, .single,
    ]
}
