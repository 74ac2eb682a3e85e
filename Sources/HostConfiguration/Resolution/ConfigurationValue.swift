import AdapterKit

/// A configured value of a known kind.
public indirect enum ConfigurationValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case flag(Bool)
    case duration(Duration)
    case size(Int)
    case access(Access)
    case secret(Secret)
    case list([ConfigurationValue])
    case mapping([String: ConfigurationValue])
}

extension ConfigurationValue {
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var integer: Int? { if case .integer(let number) = self { number } else { nil } }
    public var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    public var duration: Duration? { if case .duration(let duration) = self { duration } else { nil } }
    public var size: Int? { if case .size(let size) = self { size } else { nil } }
    public var access: Access? { if case .access(let access) = self { access } else { nil } }
    public var secret: Secret? { if case .secret(let secret) = self { secret } else { nil } }
    public var list: [ConfigurationValue]? { if case .list(let list) = self { list } else { nil } }
    public subscript(key: String) -> ConfigurationValue? {
        if case .mapping(let members) = self { members[key] } else { nil }
    }
}
