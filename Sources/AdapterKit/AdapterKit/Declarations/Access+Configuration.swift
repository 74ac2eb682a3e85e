extension Access {
    /// As the configuration writes it: `public-read`, `public`, `login`, or `{roles: [names]}`.
    public var configurationValue: WireValue {
        switch self {
        case .publicRead: "public-read"
        case .public: "public"
        case .login: "login"
        case .roles(let roles): ["roles": .array(roles.sorted().map { .string($0.text) })]
        }
    }

    /// Nil for anything that ``configurationValue`` does not give.
    public init?(configurationValue value: WireValue) {
        switch value {
        case .string("public-read"): self = .publicRead
        case .string("public"): self = .public
        case .string("login"): self = .login
        case .dictionary(let members):
            guard members.count == 1, let names = members["roles"]?.arrayValue else { return nil }
            let roles = names.compactMap { $0.stringValue.flatMap { RoleName($0) } }
            guard roles.count == names.count, !roles.isEmpty else { return nil }
            self = .roles(Set(roles))
        default: return nil
        }
    }
}
