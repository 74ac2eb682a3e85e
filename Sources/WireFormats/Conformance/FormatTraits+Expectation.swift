import AdapterKit
import WireFormats

extension FormatTraits {
    /// What comes back of a value that was written: data, dates and decimals as text where the format has no type for
    /// them.
    public func expectation(of value: WireValue) -> WireValue {
        switch value {
        case .data(let bytes) where !data: .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
        case .date(let instant) where date == .text: .string(instant.rfc3339 ?? "")
        case .decimal(let number) where decimal == .text: number.narrowed ?? .string(number.description)
        case .array(let items): .array(items.map(expectation(of:)))
        case .dictionary(let members):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.map { .init(key: $0.key, value: expectation(of: $0.value)) }))
        default: value
        }
    }

    /// What both formats carry.
    public func intersection(_ other: FormatTraits) -> FormatTraits {
        func strictness(_ support: DateSupport) -> Int {
            switch support {
            case .exact: 0
            case .text: 1
            case .wholeSeconds: 2
            }
        }
        let decimals = [decimal, other.decimal]
        return FormatTraits(
            null: null && other.null,
            decimal: decimals.contains(.none) ? .none : decimals.contains(.text) ? .text : .exact,
            nonFinite: nonFinite && other.nonFinite,
            data: data && other.data, date: strictness(date) > strictness(other.date) ? date : other.date,
            uid: uid && other.uid, allScalars: allScalars && other.allScalars)
    }
}
