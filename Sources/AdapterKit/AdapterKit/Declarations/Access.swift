/// Who may call at all, before any row rule is asked.
public enum Access: Sendable, Equatable {
    /// Reading without a login, writing with one.
    case publicRead
    /// Reading and writing without a login.
    case `public`
    /// Reading and writing with a login.
    case login
    /// A login with at least one of these roles.
    case roles(Set<RoleName>)
}

/// Whether an operation changes anything. CSRF checks, retries and caching go by it, not by the HTTP method.
public enum Effect: Sendable, Equatable {
    /// It changes nothing that a caller could observe.
    case reads
    /// It may change something.
    case writes
}

extension Access {
    /// The result of an access check.
    public enum Decision: Sendable, Equatable {
        /// The caller may call.
        case allowed
        /// The caller has to sign in first.
        case loginRequired
        /// The caller is signed in and lacks the roles.
        case denied
    }

    /// Whether a principal may make calls of this effect.
    public func decision(for principal: Principal, effect: Effect) -> Decision {
        switch self {
        case .public: return .allowed
        case .publicRead where effect == .reads: return .allowed
        case .publicRead, .login: return principal.isAnonymous ? .loginRequired : .allowed
        case .roles(let roles):
            if principal.isAnonymous { return .loginRequired }
            return roles.isDisjoint(with: principal.roles) ? .denied : .allowed
        }
    }
}

extension Access {
    /// Throws `auth.required` or `access.denied` unless the principal may call.
    public func authorize(_ principal: Principal, effect: Effect) throws(PorticoError) {
        switch decision(for: principal, effect: effect) {
        case .allowed: return
        case .loginRequired: throw PorticoError(.loginRequired, "This needs a login.")
        case .denied: throw PorticoError(.accessDenied, "You may not do this.")
        }
    }
}

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
