/// One key of the configuration reference.
public struct ConfigurationKey: Sendable, Equatable {
    /// Names joined by dots; `*` stands for any one name.
    public let path: [String]
    public let kind: ConfigurationKind
    /// As one would write it; nil: nothing.
    public let defaultText: String?
    public let summary: String
    /// Whether a mapping that has this key cannot do without it.
    public let isRequired: Bool

    public init(
        _ path: String, _ kind: ConfigurationKind, default defaultText: String? = nil, isRequired: Bool = false,
        _ summary: String
    ) {
        self.isRequired = isRequired
        self.path = path.split(separator: ".").map(String.init)
        self.kind = kind
        self.defaultText = defaultText
        self.summary = summary
    }

    public var name: String { path.joined(separator: ".") }

    func matches(_ names: [String]) -> Bool {
        names.count == path.count && zip(path, names).allSatisfy { $0 == "*" || $0 == $1 }
    }

    /// Whether something below these names could belong to this key.
    func isBelow(_ names: [String]) -> Bool {
        names.count < path.count && zip(path, names).allSatisfy { $0 == "*" || $0 == $1 }
    }
}

/// What a key takes.
public indirect enum ConfigurationKind: Sendable, Equatable {
    case text
    case integer(ClosedRange<Int>)
    case flag
    /// `250ms`, `30s`, `15m`, `8h`, `30d`; never zero.
    case duration
    /// `512`, `64KiB`, `1MiB`, `2GiB`
    case size
    case choice([String])
    /// `public-read`, `public`, `login`, or `{roles: [a, b]}`
    case access
    /// `{env: NAME}` or `{file: PATH}`; a text as it stands where `allowsPlain`.
    case secret(allowsPlain: Bool)
    case list(of: ConfigurationKind)
    /// A list of such values, or one of them as it stands; read as a list.
    case oneOrMore(ConfigurationKind)
    /// A mapping with these keys, for lists of mappings.
    case mapping([ConfigurationKey])
}
