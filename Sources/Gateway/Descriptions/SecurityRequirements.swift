import AdapterKit
import ValueTree

/// Who may call a route, as OpenAPI says it: a list of alternatives, the empty one for anonymous callers, and beside
/// each scheme the roles that are needed (OpenAPI 3.1, section 4.8.30).
struct SecurityRequirements: Sendable {
    /// What each of them asks for holds.
    let accesses: [Access]
    let effect: Effect
    /// Whether it is the operation that decides, which it may only in favour of an anonymous caller or not.
    let isDecidedByOperation: Bool

    static let schemes: WireValue = [
        "bearer": ["type": "http", "scheme": "bearer"],
        "basic": ["type": "http", "scheme": "basic"],
        "session": ["type": "apiKey", "in": "cookie", "name": "portico_session"],
    ]

    var value: WireValue {
        if accesses.allSatisfy(isOpen) { return .array(isDecidedByOperation ? [[:]] + signedIn : [[:]]) }
        let isReadable = accesses.allSatisfy { isOpen($0) || ($0 == .publicRead && effect == .reads) }
        return .array(isReadable ? [[:]] + signedIn : signedIn)
    }

    private func isOpen(_ access: Access) -> Bool { access == .public }

    private var signedIn: [WireValue] {
        ["bearer", "session", "basic"].flatMap { scheme in
            roleSets.map { roles in
                var requirement = WireDictionary()
                requirement[scheme] = .array(roles.map { .string($0.text) })
                return .dictionary(requirement)
            }
        }
    }

    /// Each access lets one of its roles in, so of several accesses every choice of one role each.
    private var roleSets: [[RoleName]] {
        accesses.reduce([[]]) { sets, access in
            guard case .roles(let roles) = access else { return sets }
            return sets.flatMap { set in roles.sorted().map { set + [$0] } }
        }
    }
}
