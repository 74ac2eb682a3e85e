import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// The services that the endpoints of an account share.
struct AccountServices: Sendable {
    let identity: Identity
    let cookie: SessionCookieSettings
    let services: GatewayServices
    let clock: any WallClock
    /// Whose pages may send a sign-in: `http.cors.origins`.
    let origins: Set<String>
    let signIns: SignInInstruments
    /// The adapters that are served, by name.
    let adapters: [AdapterName]

    /// The body's members, checked against the endpoint's shape.
    func input(_ request: AuthenticatedRequest, _ shape: ObjectShape) async throws -> WireDictionary {
        let bytes = try await services.bodies.bytes(of: request.request, limit: nil)
        let members = try services.bodies.input(
            of: request.request, parameters: request.parameters, body: bytes, shape: shape, queryMembers: [])
        try shape.check(members)
        return members
    }

    /// Before a sign-in, whose answer is a value: a 406 says that no session was begun.
    func negotiate(_ request: AuthenticatedRequest) throws(PorticoError) {
        _ = try services.encoder.choice(for: request.request, presentation: Presentation())
    }

    /// Answers with what is secret or one account's: no cache stores it (RFC 9111, section 5.2.2.5).
    func response(
        _ value: WireValue, to request: AuthenticatedRequest, status: HTTPResponse.Status = .ok
    ) throws -> GatewayResponse {
        var response = try services.encoder.write(
            value, to: request.request, presentation: Presentation(), status: status, validators: nil,
            isDone: request.request.method != .get)
        response.headers[.cacheControl] = "no-store"
        return response
    }

    func signIn(_ name: String, _ password: Secret, _ request: AuthenticatedRequest) async throws -> SignIn {
        try await signIns.count(.password) {
            try await identity.signIn(
                name, password, from: ClientAddress(request.request.peer),
                by: ClientAgent(request.request.headers[.userAgent]), replacing: replacedSession(by: request))
        }
    }

    /// The session cookie that came along, whatever else the request is authenticated by: a sign-in replaces it.
    func replacedSession(by request: AuthenticatedRequest) -> Secret? {
        request.request.headers[.cookie].flatMap { CookieField($0)[cookie.name] }.map { Secret($0) }
    }

    /// A foreign page that could sign its visitor in as another account would read what they then write.
    func refuseForeignPage(_ request: GatewayRequest) throws(PorticoError) {
        guard request.isSentByForeignPage, !origins.contains(request.headers[.origin] ?? "") else { return }
        throw PorticoError(.csrfRequired, "A page of another server cannot sign in here.")
    }

    func setCookie(_ signIn: SignIn, on response: inout GatewayResponse) {
        let seconds = Int(signIn.cookieExpires.secondsSinceReferenceDate - clock.now().secondsSinceReferenceDate)
        response.headers[.setCookie] = cookie.field(signIn.cookie, maxAge: max(0, seconds))
    }

    static func user(_ principal: Principal) -> WireValue {
        [
            "id": .string(principal.id), "name": .string(principal.name), "displayName": .string(principal.displayName),
            "roles": .array(principal.roles.sorted().map { .string($0.text) }),
        ]
    }

    static func tokens(_ pair: TokenPair) -> WireDictionary {
        [
            "accessToken": .string(pair.accessToken.reveal()), "refreshToken": .string(pair.refreshToken.reveal()),
            "tokenType": "Bearer", "expiresIn": .int64(Int64(pair.expiresIn)),
        ]
    }
}

extension WireDictionary {
    func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
    func secret(_ name: String) -> Secret { Secret(text(name)) }
}

/// The answers of an account's endpoints.
enum AccountShapes {
    static let user = Shape.object(userObject)

    static let userObject = ObjectShape(
        "User",
        members: [
            Member("id", .string, isRequired: true), Member("name", .string, isRequired: true),
            Member("displayName", .string), Member("roles", .list(of: .string), isRequired: true),
        ])

    static let tokenMembers = [
        Member("accessToken", .string, isRequired: true), Member("refreshToken", .string, isRequired: true),
        Member("tokenType", .choice(["Bearer"]), isRequired: true),
        Member("expiresIn", .integer, isRequired: true, summary: "Seconds."),
    ]

    static let tokens = Shape.object(ObjectShape("Tokens", members: tokenMembers))

    static let sessions = Shape.object(
        ObjectShape(
            "Sessions", members: [Member("sessions", .list(of: .object(session)), isRequired: true)]))

    private static let session = ObjectShape(
        "Session",
        members: [
            Member("id", .string, isRequired: true), Member("created", .date, isRequired: true),
            Member("lastUsed", .date, isRequired: true), Member("expires", .date, isRequired: true),
            Member("address", .string, isRequired: true),
            Member("agent", .string, summary: "The app or browser that signed in, as it named itself."),
            Member("current", .bool, isRequired: true, summary: "Whether this call belongs to it."),
        ])

    static func value(of session: Session) -> WireDictionary {
        var members: WireDictionary = [
            "id": .string(session.id.text), "created": .date(session.created.wholeSeconds),
            "lastUsed": .date(session.lastUsed.wholeSeconds), "expires": .date(session.expires.wholeSeconds),
            "address": .string(session.address),
        ]
        if let agent = session.agent { members["agent"] = .string(agent.text) }
        return members
    }

    static let signIn = Shape.object(
        ObjectShape("SignIn", members: tokenMembers + [Member("user", user, isRequired: true)]))
}
