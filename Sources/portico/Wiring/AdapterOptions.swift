import AdapterKit
import HostConfiguration
import ValueTree

extension ConfigurationOption {
    /// How the option is written in the configuration.
    var kind: ConfigurationKind {
        switch takes {
        case .access: .access
        case .value(let shape): Self.kind(of: shape)
        }
    }

    private static func kind(of shape: Shape) -> ConfigurationKind {
        switch shape {
        case .bool: .flag
        case .integer(let range): .integer(Int(range.range.lowerBound)...Int(range.range.upperBound))
        case .choice(let choices): .choice(choices)
        case .list(let item): .list(of: kind(of: item))
        default: .text
        }
    }
}

extension WireValue {
    /// As one would write it in the configuration; nil for what has no such form.
    var configurationText: String? {
        switch self {
        case .bool(let flag): return String(flag)
        case .int64(let number): return String(number)
        case .string(let text): return text
        case .array(let items):
            let texts = items.compactMap(\.configurationText)
            return texts.count == items.count ? "[\(texts.joined(separator: ", "))]" : nil
        default: return nil
        }
    }
}
