import AdapterKit
import HTTPTypes
import Identity
import NearestNames
import ValueTree

/// `GET /auth/keys`: the API keys of the caller's account, without their secrets.
struct KeyListEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "The caller's own API keys, oldest first.", tag: "Sign-in",
        answers: [(.ok, .value(KeyShapes.list))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let keys = try await accounts.identity.administration.apiKeys(of: request.caller.person().account)
        return try accounts.response(
            [
                "keys": .array(keys.map { .dictionary(KeyShapes.value($0)) }),
                "adapters": .array(accounts.adapters.map { .string($0.text) }),
            ], to: request)
    }
}

/// `POST /auth/keys`: a new API key, the text of which is shown this once.
struct KeyCreationEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys.create", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Creates an API key for a program; its text is shown this once.", tag: "Sign-in",
        body: KeyShapes.creation, answers: [(.created, .value(KeyShapes.created))],
        errors: [.requestLimitExceeded, .accessDenied])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        let wanted = try APIKeyRequest(
            try await accounts.input(request, KeyShapes.creation), adapters: accounts.adapters,
            now: accounts.clock.now())
        try wanted.checkRoles(of: authentication.principal)
        let made = try await accounts.identity.administration.createAPIKey(
            for: authentication.account, title: wanted.title, roles: wanted.roles, scope: wanted.scope,
            expires: wanted.expires, by: authentication.principal)
        return try accounts.response(KeyShapes.value(made.key, made.credential), to: request, status: .created)
    }
}

/// `DELETE /auth/keys/{id}`
struct KeyRevocationEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.keys.revoke", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Revokes one of the caller's own API keys.", tag: "Sign-in", answers: [(.noContent, .nothing)],
        errors: [.recordNotFound])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        guard let id = APIKeyID(request["id"]) else {
            throw PorticoError(.recordNotFound, "There is no such API key.")
        }
        try await accounts.identity.administration.revokeAPIKey(
            id, of: authentication.account, by: authentication.principal)
        return GatewayResponse(.noContent)
    }
}

/// The shapes in which API keys are asked for and shown, to their owners and to operators alike.
enum KeyShapes {
    /// A key that is to live longer is made without an end.
    static let maximumDays: Int64 = 3_650

    static let creation = ObjectShape(
        "NewKey",
        members: [
            Member("title", .string(TextLimits(minimumLength: 1, maximumLength: 100)), isRequired: true),
            Member("roles", .list(of: name), summary: "Those of the account's roles that it has; left out: all."),
            Member("adapters", .list(of: name), summary: "The adapters that it reaches; left out: all."),
            Member("readOnly", .bool, defaultValue: false),
            Member(
                "days", .integer(IntegerRange(1...maximumDays)), summary: "How long it lives; left out: until revoked."),
        ])

    private static let name = Shape.string(maximumLength: 64)

    private static let members = [
        Member("id", .string, isRequired: true), Member("title", .string, isRequired: true),
        Member("roles", .list(of: .string), isNullable: true),
        Member("adapters", .list(of: .string), isNullable: true), Member("readOnly", .bool, isRequired: true),
        Member("created", .date, isRequired: true), Member("expires", .date, isNullable: true),
    ]

    static let list = Shape.object(
        ObjectShape(
            "Keys",
            members: [
                Member("keys", .list(of: .object(ObjectShape("Key", members: members))), isRequired: true),
                Member(
                    "adapters", .list(of: .string), isRequired: true,
                    summary: "The adapters that a key may name."),
            ]))

    static let created = Shape.object(
        ObjectShape("CreatedKey", members: members + [Member("key", .string, isRequired: true, summary: "The secret.")])
    )

    static func value(_ key: APIKey) -> WireDictionary {
        var value: WireDictionary = [
            "id": .string(key.id.text), "title": .string(key.title), "readOnly": .bool(!key.scope.mayWrite),
            "created": .date(key.created.wholeSeconds),
        ]
        if let roles = key.roles { value["roles"] = .array(roles.sorted().map { .string($0.text) }) }
        if let adapters = key.scope.adapters { value["adapters"] = .array(adapters.sorted().map { .string($0.text) }) }
        if let expires = key.expires { value["expires"] = .date(expires.wholeSeconds) }
        return value
    }

    static func value(_ key: APIKey, _ credential: Secret) -> WireValue {
        var members = value(key)
        members["key"] = .string(credential.reveal())
        return .dictionary(members)
    }
}

/// A key as it was asked for, valid inside.
struct APIKeyRequest: Sendable {
    let title: String
    let roles: Set<RoleName>?
    let scope: CredentialScope
    let expires: WireDate?

    /// Throws `request.invalid` for a name that is none, and for an adapter that is none of `adapters`: a key for it
    /// would reach nothing.
    init(_ input: WireDictionary, adapters: [AdapterName], now: WireDate) throws(PorticoError) {
        title = input.text("title")
        roles = try Self.names(input, "roles")
        let named: Set<AdapterName>? = try Self.names(input, "adapters")
        if let unknown = (named ?? []).subtracting(adapters).min() {
            let near = NearestName.sentence(unknown.text, among: adapters.map(\.text))
            throw PorticoError(.requestInvalid, "There is no adapter \(unknown).\(near)", target: "adapters")
        }
        scope = CredentialScope(adapters: named, mayWrite: input["readOnly"]?.boolValue != true)
        expires = input["days"]?.int64Value.map {
            WireDate(secondsSinceReferenceDate: now.secondsSinceReferenceDate + Double($0) * 86_400)
        }
    }

    /// Throws `access.denied` for a role that the account has not: a key would wait for it to be granted.
    func checkRoles(of principal: Principal) throws(PorticoError) {
        let lacking = (roles ?? []).subtracting(principal.roles)
        guard lacking.isEmpty else {
            let names = lacking.sorted().map(\.text).joined(separator: ", ")
            throw PorticoError(.accessDenied, "Your account has not these roles: \(names).", target: "roles")
        }
    }

    private static func names<Name: ValidatedName>(
        _ input: WireDictionary, _ member: String
    ) throws(PorticoError) -> Set<Name>? {
        guard let texts = input[member]?.arrayValue else { return nil }
        var names: Set<Name> = []
        for text in texts {
            guard let name = text.stringValue.flatMap({ Name($0) }) else {
                throw PorticoError(.requestInvalid, "One of these is no name.", target: member)
            }
            names.insert(name)
        }
        return names
    }
}
