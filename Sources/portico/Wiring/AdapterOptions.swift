import AdapterKit
import HostConfiguration
import ValueTree

extension ConfigurationOption {
    /// How the option is written in the configuration.
    var kind: ConfigurationKind {
        switch valueKind {
        case .access: .access
        case .secret: .secret(allowsPlain: false)
        case .textLists: .list(of: .oneOrMore(.text))
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

    /// The default as one would write it; nil where there is none, or none that fits on a line.
    var defaultText: String? { defaultValue.flatMap(Self.text) }

    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .bool(let flag): return flag ? "true" : "false"
        case .int64(let number): return String(number)
        case .string(let text): return text
        case .array(let items):
            let texts = items.compactMap { text($0) }
            return texts.count == items.count ? "[\(texts.joined(separator: ", "))]" : nil
        default: return nil
        }
    }

    /// Puts the default where nothing is said; below a `*`, for each name that is there.
    func addDefault(to options: inout WireDictionary) {
        guard let defaultValue else { return }
        Self.add(defaultValue, at: path.split(separator: ".").map(String.init)[...], to: &options)
    }

    private static func add(_ value: WireValue, at path: ArraySlice<String>, to options: inout WireDictionary) {
        guard let name = path.first else { return }
        let rest = path.dropFirst()
        if name == "*" {
            for member in options where !rest.isEmpty {
                guard var below = member.value.dictionaryValue else { continue }
                add(value, at: rest, to: &below)
                options[member.key] = .dictionary(below)
            }
        } else if rest.isEmpty {
            if options[name] == nil { options[name] = value }
        } else {
            var below = options[name]?.dictionaryValue ?? [:]
            add(value, at: rest, to: &below)
            if !below.isEmpty { options[name] = .dictionary(below) }
        }
    }
}
