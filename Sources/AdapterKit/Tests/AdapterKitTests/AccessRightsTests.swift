import Testing

@testable import AdapterKit

@Suite struct `Rights` {
    private static let anonymous = Principal.anonymous
    private static let member = Principal(kind: .user, id: "1", name: "ada", roles: ["member"])
    private static let admin = Principal(kind: .user, id: "2", name: "eve", roles: ["admin"])

    @Test(
        arguments: [
            (Access.nobody, [.loginRequired, .denied, .denied]), (.public, [.allowed, .allowed, .allowed]),
            (.login, [.loginRequired, .allowed, .allowed]), (.roles(["admin"]), [.loginRequired, .denied, .allowed]),
            (.roles([]), [.loginRequired, .denied, .denied]),
        ] as [(Access, [Access.Decision])])
    func `an access lets these in`(access: Access, decisions: [Access.Decision]) {
        #expect([Self.anonymous, Self.member, Self.admin].map { access.decision(for: $0) } == decisions)
    }

    @Test(
        arguments: [
            ("login" as WireValue, AccessRights(read: .login)),
            ("public-read" as WireValue, AccessRights(read: .public)),
            ("public" as WireValue, AccessRights(read: .public, write: .public)),
            (["roles": ["admin"]] as WireValue, AccessRights(read: .roles(["admin"]), write: .roles(["admin"]))),
            (["read": "login", "write": "none"] as WireValue, AccessRights(read: .login, write: .nobody)),
            (["write": ["roles": ["a", "b"]]] as WireValue, AccessRights(write: .roles(["a", "b"]))),
            (["refresh": "public"] as WireValue, AccessRights(refresh: .public)),
        ])
    func `the configuration writes them so`(value: WireValue, rights: AccessRights) {
        #expect(AccessRights(configurationValue: value) == rights)
        #expect(rights.configurationValue == value)
    }

    @Test(
        arguments: [
            "none", "everybody", ["roles": []], ["read": "all"], ["reads": "login"], ["read": "public-read"],
            ["roles": ["a"], "write": "login"], 1, .null,
        ] as [WireValue])
    func `nothing else is one`(value: WireValue) {
        #expect(AccessRights(configurationValue: value) == nil)
    }

    @Test func `what was given stands over what was given before, right by right`() {
        let author = AccessRights(read: .public, write: .login)
        #expect(AccessRights(write: .nobody).over(author) == AccessRights(read: .public, write: .nobody))
        #expect(AccessRights.login.over(author) == AccessRights(read: .login, write: .login))
    }

    @Test(
        arguments: [
            (.everyone, false), (.nobody, false), (.signedIn, false), (.hasRole("a"), false),
            (.fieldIsOneOf("a", ["x"]), false), (.not(.owner("a")), false), (.any([.owner("a"), .signedIn]), false),
            (.any([]), false), (.all([]), false), (.all([.signedIn, .hasRole("a")]), false), (.owner("a"), true),
            (.sharedWith("a"), true), (.attributeEquals("a", attribute: "b"), true),
            (.memberOf("rooms", through: "a", members: "b"), true), (.any([.owner("a"), .hasRole("a")]), true),
            (.all([.owner("a"), .signedIn, .not(.fieldIsOneOf("b", ["x"]))]), true),
        ] as [(RowRule, Bool)])
    func `a rule binds rows to callers where a caller without roles is let in by the row alone`(
        rule: RowRule, binds: Bool
    ) {
        #expect(rule.bindsRowsToCallers == binds)
    }
}

@Suite struct `What nobody gave` {
    private static func entity(
        _ name: EntityName, _ write: RowRule = .everyone, writers: Access? = nil, exposure: Exposure = .resource
    ) -> Entity {
        Entity(
            name, summary: "", key: EntityKey("id"), fields: [Field("id", .string), Field("owner", .string)],
            rows: RowRules(read: .everyone, write: write), writers: writers, exposure: exposure)
    }

    private static func adapter(
        _ entities: [Entity], _ access: AccessRights = AccessRights(), _ operations: [Operation] = [],
        mounts: [HTTPMount] = [], mirrors: [MirrorSource] = []
    ) -> AdapterDeclaration {
        AdapterDeclaration(
            name: "a", title: "", summary: "", version: "1", access: access, entities: entities,
            operations: operations, mounts: mounts, mirrors: mirrors)
    }

    private static func writing(_ access: Access? = nil, entities: [EntityName]? = nil) -> Operation {
        Operation("op", summary: "", effect: .writes, output: .any, access: access, entities: entities)
    }

    @Test func `nobody writes, but where a rule binds rows to callers everybody with a login`() throws {
        let declaration = Self.adapter([Self.entity("open"), Self.entity("owned", .owner("owner"))])
        #expect(declaration.entities.map { declaration.writers(of: $0) } == [.nobody, .login])
        #expect(declaration.entities.map { declaration.readers(of: $0) } == [.login, .login])
        #expect(declaration.access.refreshing == .nobody)
    }

    @Test func `the entity's own goes before the adapter's, and the configuration's before the author's`() throws {
        let author = Self.adapter(
            [Self.entity("open"), Self.entity("kept", writers: .roles(["keeper"]))], AccessRights(write: .login))
        #expect(author.entities.map { author.writers(of: $0) } == [.login, .roles(["keeper"])])
        let granted = author.granting(
            AccessRights(read: .public, write: .nobody), entities: ["kept": AccessRights(write: .login)])
        #expect(granted.entities.map { granted.writers(of: $0) } == [.nobody, .login])
        #expect(granted.entities.map { granted.readers(of: $0) } == [.public, .public])
    }

    @Test func `a mirror that gets no changes is written by nobody, whoever says otherwise`() throws {
        let declaration = Self.adapter(
            [Self.entity("rows", writers: .public)], AccessRights(write: .login),
            mirrors: [MirrorSource("rows", of: "hr")])
        let granted = declaration.granting(.public, entities: ["rows": AccessRights(write: .public)])
        #expect(granted.entities.map { granted.writers(of: $0) } == [.nobody])
    }

    @Test func `an operation that writes follows its own access, else the adapter's, else its entities'`() {
        let entities = [Self.entity("open"), Self.entity("owned", .owner("owner"))]
        func callers(_ operation: Operation, _ access: AccessRights = AccessRights()) -> [Access] {
            Self.adapter(entities, access, [operation]).callers(of: operation)
        }
        #expect(callers(Self.writing(.roles(["a"]))) == [.login, .roles(["a"])])
        #expect(callers(Self.writing(.roles(["a"])), AccessRights(write: .nobody)) == [.login, .roles(["a"])])
        #expect(callers(Self.writing(), AccessRights(write: .roles(["b"]))) == [.login, .roles(["b"])])
        #expect(callers(Self.writing(), AccessRights(write: .login)) == [.login])
        #expect(callers(Self.writing(entities: ["owned"])) == [.login])
        #expect(Set(callers(Self.writing(entities: ["open"]))) == [.login, .nobody])
        #expect(Set(callers(Self.writing())) == [.login, .nobody])
        #expect(callers(Self.writing(entities: [])) == [.nobody])
    }

    @Test func `an operation that answers nothing can be called by who may write and not read`() {
        let silent = Operation("op", summary: "", effect: .writes, output: .object(ObjectShape("Nothing", members: [])))
        let access = AccessRights(read: .roles(["reader"]), write: .login)
        #expect(Self.adapter([], access, [silent]).callers(of: silent) == [.login])
        let telling = Self.writing()
        #expect(Self.adapter([], access, [telling]).callers(of: telling) == [.roles(["reader"]), .login])
    }

    @Test func `an operation that reads needs what the adapter's readers need`() {
        let read = Operation("op", summary: "", effect: .reads, output: .any, access: .roles(["a"]))
        #expect(Self.adapter([], .publicRead, [read]).callers(of: read) == [.public, .roles(["a"])])
    }

    @Test func `a mount follows the same, by what a request does`() {
        func callers(_ mount: AccessRights?, _ entities: [Entity], _ access: AccessRights = AccessRights()) -> [Access]
        {
            let mount = HTTPMount("m", summary: "", path: "/m", methods: ["GET", "POST"], access: mount)
            return Self.adapter(entities, access, mounts: [mount]).callers(of: mount, .writes)
        }
        #expect(callers(.login, [Self.entity("open")]) == [.nobody])
        #expect(callers(AccessRights(write: .roles(["a"])), [Self.entity("open")]) == [.login, .roles(["a"])])
        #expect(callers(nil, [], AccessRights(write: .public)) == [.public])
        #expect(
            callers(nil, [Self.entity("owned", .owner("owner")), Self.entity("own", exposure: .adapterOnly)]) == [
                .login
            ])
    }
}
