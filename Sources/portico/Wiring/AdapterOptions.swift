import AdapterKit
import HostConfiguration

extension ConfigurationOption {
    /// How the option is written in the configuration.
    var kind: ConfigurationKind {
        switch takes {
        case .access: .access
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
}
