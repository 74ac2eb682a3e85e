import AdapterKit
import ODataModel

extension Version2Form {
    /// As URLs have it, not percent-encoded. Nil for what is not simple.
    public func literal(_ value: WireValue, _ type: TypeReference) -> String? {
        guard let simple = simple(type) else { return nil }
        guard !value.isNull else { return "null" }
        if simple == .int32, case .int64(let number) = value { return String(number) }
        if simple == .binary { return value.dataValue.map { "X'\(Hexadecimal.text($0).uppercased())'" } }
        guard let text = text(of: value, as: simple, type) else { return nil }
        switch simple {
        case .string: return "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
        case .guid: return "guid'\(text)'"
        case .dateTime: return "datetime'\(text)'"
        case .dateTimeOffset: return "datetimeoffset'\(text)'"
        case .time: return "time'\(text)'"
        case .int64: return "\(text)L"
        case .decimal: return "\(text)M"
        case .double: return value.doubleValue?.isFinite == false ? text : "\(text)d"
        case .single: return value.doubleValue?.isFinite == false ? text : "\(text)f"
        default: return text
        }
    }
}
