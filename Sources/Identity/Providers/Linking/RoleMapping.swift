import AdapterKit

/// Which roles somebody of another system has here.
public struct RoleMapping: Sendable, Equatable {
    /// Everybody who signs in there.
    public var everybody: Set<RoleName> = []
    /// Who is in one of its groups; groups that are not named give nothing.
    public var groups: [String: Set<RoleName>] = [:]
    /// Whether an account without any role is refused.
    public var isRequired = false

    public init() {}

    /// Nil: refused.
    func roles(of groups: [String]) -> Set<RoleName>? {
        let roles = groups.reduce(everybody) { $0.union(self.groups[$1] ?? []) }
        return isRequired && roles.isEmpty ? nil : roles
    }
}
