/// The callers that may do something at all, before any row rule is asked.
public enum Access: Sendable, Hashable {
    /// No caller.
    case nobody
    /// Every caller, without a login.
    case `public`
    /// Every caller with a login.
    case login
    /// A login with at least one of these roles; none: no caller.
    case roles(Set<RoleName>)
}

extension Access {
    /// The result of an access check.
    public enum Decision: Sendable, Equatable {
        /// The caller may call.
        case allowed
        /// The caller has to sign in first.
        case loginRequired
        /// The caller is signed in and lacks the roles, or no caller is let in.
        case denied
    }

    /// Whether a principal is among them.
    public func decision(for principal: Principal) -> Decision {
        if self == .public { return .allowed }
        if principal.isAnonymous { return .loginRequired }
        switch self {
        case .nobody: return .denied
        case .public, .login: return .allowed
        case .roles(let roles): return roles.isDisjoint(with: principal.roles) ? .denied : .allowed
        }
    }

    /// Throws `auth.required` or `access.denied` unless the principal is among them.
    public func authorize(_ principal: Principal) throws(PorticoError) {
        switch decision(for: principal) {
        case .allowed: return
        case .loginRequired: throw PorticoError(.loginRequired, "This needs a login.")
        case .denied: throw PorticoError(.accessDenied, "You may not do this.")
        }
    }

    /// Whether it lets no caller in.
    public var isNobody: Bool { self == .nobody || self == .roles([]) }

    /// Whether it lets every caller in that the other one does.
    public func includes(_ other: Access) -> Bool {
        if other.isNobody || self == .public { return true }
        switch (self, other) {
        case (_, .public): return false
        case (.login, _): return true
        case (.roles(let own), .roles(let others)): return others.isSubset(of: own)
        default: return false
        }
    }

    /// Whether it lets every caller in that is signed in.
    public var isEverySignedIn: Bool { self == .public || self == .login }
}

extension Access {
    /// As the configuration writes it: `none`, `public`, `login`, or `{roles: [names]}`.
    public var configurationValue: WireValue {
        switch self {
        case .nobody: "none"
        case .public: "public"
        case .login: "login"
        case .roles(let roles) where roles.isEmpty: "none"
        case .roles(let roles): ["roles": .array(roles.sorted().map { .string($0.text) })]
        }
    }

    /// Nil for anything that ``configurationValue`` does not give.
    public init?(configurationValue value: WireValue) {
        switch value {
        case .string("none"): self = .nobody
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

    /// As an operator writes it on one line: `none`, `public`, `login`, `{roles: [admin]}`.
    public var text: String {
        switch self {
        case .nobody: "none"
        case .public: "public"
        case .login: "login"
        case .roles(let roles) where roles.isEmpty: "none"
        case .roles(let roles): "{roles: [\(roles.sorted().map(\.text).joined(separator: ", "))]}"
        }
    }
}
