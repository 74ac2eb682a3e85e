/// The rights to read, to write, and to ask for a refresh: of an adapter, one of its entities or mounts, or a part of
/// them that the configuration names.
///
/// A right that is nil was not given. Reading is for ``Access/login`` then, and refreshing for no caller. Writing is for no
/// caller too, except where a write rule binds each row to callers (``RowRule/bindsRowsToCallers``).
public struct AccessRights: Sendable, Hashable {
    /// The callers that may read.
    public let read: Access?
    /// The callers that may write.
    public let write: Access?
    /// The callers that may ask for a refresh of a mirror.
    public let refresh: Access?

    /// Creates rights; nil is not given.
    public init(read: Access? = nil, write: Access? = nil, refresh: Access? = nil) {
        self.read = read
        self.write = write
        self.refresh = refresh
    }

    /// Reading with a login.
    public static let login = AccessRights(read: .login)
    /// Reading without a login.
    public static let publicRead = AccessRights(read: .public)
    /// Reading and writing without a login.
    public static let `public` = AccessRights(read: .public, write: .public)

    /// Reading and writing with at least one of these roles.
    public static func roles(_ roles: Set<RoleName>) -> AccessRights {
        AccessRights(read: .roles(roles), write: .roles(roles))
    }

    /// These, and of `others` what is not given here.
    public func over(_ others: AccessRights) -> AccessRights {
        AccessRights(read: read ?? others.read, write: write ?? others.write, refresh: refresh ?? others.refresh)
    }

    /// The callers that may read, whether that was given or not.
    public var reading: Access { read ?? .login }

    /// The callers that may ask for a refresh, whether that was given or not.
    public var refreshing: Access { refresh ?? .nobody }

    /// Throws `auth.required` or `access.denied` unless the principal may do that. No caller may write where that was not
    /// given.
    public func authorize(_ principal: Principal, effect: Effect) throws(PorticoError) {
        try (effect == .reads ? reading : write ?? .nobody).authorize(principal)
    }
}

extension AccessRights {
    /// As the configuration writes it: `login`, `public-read`, `public`, `{roles: [names]}`, or `{read, write, refresh}`
    /// with what is given.
    public var configurationValue: WireValue {
        if refresh == nil {
            switch (read, write) {
            case (.login?, nil): return "login"
            case (.public?, nil): return "public-read"
            case (.public?, .public?): return "public"
            case (.roles(let readers)?, .roles(let writers)?) where readers == writers && !readers.isEmpty:
                return Access.roles(readers).configurationValue
            default: break
            }
        }
        return .dictionary(members)
    }

    /// The rights that are given, by their names.
    public var members: WireDictionary {
        var members = WireDictionary()
        if let read { members["read"] = read.configurationValue }
        if let write { members["write"] = write.configurationValue }
        if let refresh { members["refresh"] = refresh.configurationValue }
        return members
    }

    /// Nil for anything that ``configurationValue`` does not give.
    public init?(configurationValue value: WireValue) {
        switch value {
        case .string("login"): self = .login
        case .string("public-read"): self = .publicRead
        case .string("public"): self = .public
        case .dictionary(let members) where members["roles"] != nil:
            guard case .roles(let roles)? = Access(configurationValue: value) else { return nil }
            self = .roles(roles)
        case .dictionary(let members): self.init(members: members)
        default: return nil
        }
    }

    /// Nil where there is another member, or what stands there is no access.
    public init?(members: WireDictionary) {
        var given: [String: Access] = [:]
        for member in members {
            guard ["read", "write", "refresh"].contains(member.key),
                let access = Access(configurationValue: member.value)
            else { return nil }
            given[member.key] = access
        }
        self.init(read: given["read"], write: given["write"], refresh: given["refresh"])
    }

    /// As an operator writes it on one line.
    public var text: String {
        switch configurationValue {
        case .string(let text): return text
        case .dictionary(let members) where members["roles"] != nil: return reading.text
        default:
            let parts = [("read", read), ("write", write), ("refresh", refresh)]
            return
                "{\(parts.compactMap { name, access in access.map { "\(name): \($0.text)" } }.joined(separator: ", "))}"
        }
    }
}

extension RowRule {
    /// Whether it says of each row which callers it is for, so that it is safe to let every caller with a login write: one
    /// without roles reaches rows by their fields alone. ``everyone``, ``signedIn`` and ``hasRole(_:)`` alone say nothing
    /// about rows.
    public var bindsRowsToCallers: Bool { looksAtRows && !isOpen }

    /// Whether a caller with a login and without roles may reach rows whatever they say of callers.
    private var isOpen: Bool {
        switch self {
        case .everyone, .signedIn, .fieldIsOneOf, .not: true
        case .nobody, .hasRole, .owner, .sharedWith, .attributeEquals, .memberOf: false
        case .any(let rules): rules.contains(where: \.isOpen)
        case .all(let rules): rules.allSatisfy(\.isOpen)
        }
    }
}

// What follows from all that was given: the author's declaration, with the configuration over it.
extension AdapterDeclaration {
    /// The same adapter with what the configuration says: `access` of all of it, `entities` of single ones.
    public func granting(_ access: AccessRights, entities given: [EntityName: AccessRights] = [:]) -> AdapterDeclaration
    {
        with(
            access: access.over(self.access),
            entities: entities.map { entity in
                guard let rights = given[entity.name] else { return entity }
                return entity.with(readers: rights.read ?? entity.readers, writers: rights.write ?? entity.writers)
            })
    }

    /// The same adapter whose entities all say who may write them.
    public var decidingWriters: AdapterDeclaration {
        with(access: access, entities: entities.map { $0.with(readers: $0.readers, writers: writers(of: $0)) })
    }

    /// The callers that may read an entity's records at all.
    public func readers(of entity: Entity) -> Access { entity.readers ?? access.reading }

    /// The same by the entity's name. No caller reads what is not declared.
    public func readers(of name: EntityName) -> Access { entity(name).map { readers(of: $0) } ?? .nobody }

    /// The callers that may write an entity's records at all.
    public func writers(of entity: Entity) -> Access {
        entity.writers ?? access.write ?? Self.standardWriters(of: entity)
    }

    /// Whom an operation is for; all of them hold. Nothing where it decides itself, and for operators.
    public func callers(of operation: Operation) -> [Access] {
        guard operation.audience == .callers else { return [] }
        let own = operation.access.map { [$0] } ?? []
        guard operation.authorization == .byAccess else { return own }
        return callers(own, operation.effect, writing: operation.entities, showing: operation.answersSomething)
    }

    /// Whom a mount is for, by what a request does; all of them hold. Nothing where it decides itself.
    public func callers(of mount: HTTPMount, _ effect: Effect) -> [Access] {
        guard mount.authorization == .byAccess else { return [] }
        let own = effect == .reads ? mount.access?.read : mount.access?.write
        return callers(own.map { [$0] } ?? [], effect, writing: nil, showing: false)
    }

    /// `showing`: it answers something, which only who may read is shown.
    private func callers(
        _ own: [Access], _ effect: Effect, writing names: [EntityName]?, showing: Bool
    ) -> [Access] {
        if effect == .reads || !own.isEmpty { return [access.reading] + own }
        let reading = showing ? [access.reading] : []
        if let write = access.write { return reading.contains(write) ? reading : reading + [write] }
        let written = entities.filter { names?.contains($0.name) ?? ($0.exposure == .resource) }
        let standard = written.map { $0.writers ?? Self.standardWriters(of: $0) }
        return standard.isEmpty ? [.nobody] : Array(Set(reading + standard))
    }

    private static func standardWriters(of entity: Entity) -> Access {
        entity.rows.write.bindsRowsToCallers ? .login : .nobody
    }

    private func with(access: AccessRights, entities: [Entity]) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: title, summary: summary, version: version, access: access, entities: entities,
            operations: operations, mounts: mounts, liveFeeds: liveFeeds, mirrors: mirrors, rules: rules,
            soapServices: soapServices)
    }
}

extension Operation {
    /// Whether an answer has any content.
    fileprivate var answersSomething: Bool {
        guard documentType == nil, case .object(let shape) = output else { return true }
        return shape.isOpen || !shape.members.isEmpty
    }
}
