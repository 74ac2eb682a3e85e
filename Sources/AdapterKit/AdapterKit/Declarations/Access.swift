/// Who may call at all, before any row rule is asked.
public enum Access: Sendable, Equatable {
    /// Reading without a login, writing with one.
    case publicRead
    /// Reading and writing without a login.
    case `public`
    case login
    /// A login with at least one of these roles.
    case roles(Set<RoleName>)
}

/// Whether an operation changes anything. CSRF checks, retries and caching go by it, not by the HTTP method.
public enum Effect: Sendable, Equatable {
    case reads
    case writes
}

extension Access {
    public enum Verdict: Sendable, Equatable {
        case allowed
        case needsLogin
        case denied
    }

    public func verdict(for principal: Principal, effect: Effect) -> Verdict {
        switch self {
        case .public: return .allowed
        case .publicRead where effect == .reads: return .allowed
        case .publicRead, .login: return principal.isAnonymous ? .needsLogin : .allowed
        case .roles(let roles):
            if principal.isAnonymous { return .needsLogin }
            return roles.isDisjoint(with: principal.roles) ? .denied : .allowed
        }
    }
}

extension Access {
    /// Throws `auth.required` or `access.denied` unless the principal may call.
    public func admit(_ principal: Principal, effect: Effect) throws(PorticoError) {
        switch verdict(for: principal, effect: effect) {
        case .allowed: return
        case .needsLogin: throw PorticoError(.loginRequired, "This needs a login.")
        case .denied: throw PorticoError(.accessDenied, "You may not do this.")
        }
    }
}
