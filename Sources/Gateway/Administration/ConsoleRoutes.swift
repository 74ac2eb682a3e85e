import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// The sign-in at the console, below `/console/session`, and the console's files.
struct ConsoleRoutes: Sendable {
    private static let credential = ObjectShape(
        "ConsoleCredential",
        members: [
            Member("name", .string(maximumLength: 256)), Member("password", .string(maximumLength: 1_024)),
            Member("token", .string(maximumLength: 256), summary: "An admin token, in place of a name and a password."),
            Member("link", .string(maximumLength: 64), summary: "What a link has behind `#link=`."),
            Member("certificate", .bool, summary: "The client certificate of the connection."),
        ])

    let authenticator: AdminAuthenticator
    let console: ConsoleAuthentication
    let services: GatewayServices

    private var identity: Identity { authenticator.identity }

    func routes() -> [Route] {
        console.settings.pages.map { Route(.get, $0.path, PageFileEndpoint($0, isPrivate: true)) } + [
            Route(.get, "/", ConsoleRedirectEndpoint()),
            Route(.get, "/console", ConsoleRedirectEndpoint()),
            Route(
                .get, "/console/session",
                endpoint("session", .reads, "Who is signed in.") { request, _ in
                    ConsoleEndpoint.Answer(value: status(request.caller, request.request))
                }),
            // A read as far as CSRF is concerned: there is no session yet that could be abused.
            Route(
                .post, "/console/session",
                endpoint("signIn", .reads, "Signs in at the console.", Self.credential) { request, input in
                    try await signIn(input, request.request)
                }),
            Route(
                .post, "/console/session/end",
                endpoint("signOut", .writes, "Ends the session.") { request, _ in
                    try await signOut(request)
                }),
            Route(
                .post, "/console/session/confirmation",
                endpoint(
                    "confirm", .reads, "Shows the password again, for one action that asks for it.", Self.credential
                ) { request, input in try await confirm(input, request) }),
        ]
    }

    private func endpoint(
        _ name: String, _ effect: Effect, _ summary: String, _ input: ObjectShape? = nil,
        _ perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> ConsoleEndpoint.Answer
    ) -> ConsoleEndpoint {
        ConsoleEndpoint(name, effect, summary, input: input, services: services, perform: perform)
    }
}

extension ConsoleRoutes {
    private func status(_ caller: Caller, _ request: GatewayRequest) -> WireValue {
        guard let cookie = caller.sessionCookie, let role = caller.adminRole,
            let session = console.state.withTable({ $0.find(cookie, isActivity: false, at: services.clock.now()) })
        else {
            return [
                "signedIn": false,
                "certificate": .bool(authenticator.certificates != nil && request.certificate != nil),
            ]
        }
        let way: String =
            switch session.subject {
            case .account: "password"
            case .token: "token"
            case .certificate: "certificate"
            case .link: "link"
            }
        return [
            "signedIn": true, "name": .string(session.name), "role": .string(role.rawValue), "by": .string(way),
            "began": .date(session.began.wholeSeconds),
            "csrfToken": .string(identity.csrfToken(forSessionCookie: cookie).reveal()),
        ]
    }

    /// A page of another server that could sign an operator in as another account would see what that operator then does.
    private func signIn(_ input: WireDictionary, _ request: GatewayRequest) async throws -> ConsoleEndpoint.Answer {
        guard request.isSentByOwnPage else {
            throw PorticoError(.csrfRequired, "A page of another server cannot sign in here.")
        }
        let proven = try await prove(input, request)
        let secret = identity.formSecret()
        try await identity.record(
            AuditEvent(
                .signInAccepted, actor: proven.actor, address: clientNetwork(of: request.peer), detail: "console"))
        let old = console.settings.cookie.value(of: request)
        try console.state.withTable { table throws(PorticoError) in
            if let old { table.end(old) }
            try table.begin(
                proven.subject, actor: proven.actor, name: proven.name, role: proven.role, secret: secret,
                from: ConsoleSession.Origin(
                    address: clientNetwork(of: request.peer),
                    agent: ClientAgent(request.headers[.userAgent])?.text ?? ""),
                at: services.clock.now())
        }
        let field = console.settings.cookie.field(secret, maxAge: Int(ConsoleSessionTable.lifetime))
        return ConsoleEndpoint.Answer(
            value: ["signedIn": true, "name": .string(proven.name), "role": .string(proven.role.rawValue)],
            cookie: field)
    }

    private struct Proven {
        let subject: ConsoleSubject
        let actor: String
        let name: String
        let role: AdminRole
    }

    private func prove(_ input: WireDictionary, _ request: GatewayRequest) async throws -> Proven {
        if input["token"] != nil {
            let token = try await authenticator.token(input.secret("token"), from: request.peer)
            let name = "token \(token.name)"
            return Proven(
                subject: .token(token), actor: name, name: name, role: token.role)
        }
        if input["link"] != nil {
            try await authenticator.checkGuess(from: request.peer) {
                console.state.withTable { $0.useLink(input.secret("link"), at: services.clock.now()) }
            }
            return Proven(subject: .link, actor: "console link", name: "console link", role: .operator)
        }
        if input["certificate"]?.boolValue == true {
            guard let certificates = authenticator.certificates, let shown = request.certificate else {
                throw PorticoError(.credentialsInvalid, "There is no client certificate.")
            }
            let name = "certificate \(certificates.name(shown))"
            return Proven(
                subject: .certificate(ConsoleAuthentication.digest(shown)), actor: name, name: name,
                role: certificates.role)
        }
        return try await proveAccount(input, request)
    }

    private func proveAccount(_ input: WireDictionary, _ request: GatewayRequest) async throws -> Proven {
        let (proof, account) = try await identity.proveAccount(
            input.text("name"), input.secret("password"), from: ClientAddress(request.peer))
        guard let role = console.role(of: account) else {
            try await identity.record(
                AuditEvent(
                    .administrationRefused, actor: account.id.text, address: clientNetwork(of: request.peer),
                    detail: "console"))
            throw PorticoError(
                .accessDenied,
                "This account may not use the console: `admin.roles` names none of its roles, or it is one of the demo."
            )
        }
        return Proven(subject: .account(proof), actor: account.id.text, name: account.name.text, role: role)
    }

    private func signOut(_ request: AuthenticatedRequest) async throws -> ConsoleEndpoint.Answer {
        guard request.request.isSentByOwnPage else {
            throw PorticoError(.csrfRequired, "A page of another server cannot sign out here.")
        }
        if let cookie = request.caller.sessionCookie, let ended = console.state.withTable({ $0.end(cookie) }) {
            try await identity.record(
                AuditEvent(
                    .signedOut, actor: ended.actor, address: clientNetwork(of: request.request.peer), detail: "console")
            )
        }
        return ConsoleEndpoint.Answer(cookie: console.settings.cookie.removal)
    }

    /// By the same evidence as the session's.
    private func confirm(
        _ input: WireDictionary, _ request: AuthenticatedRequest
    ) async throws -> ConsoleEndpoint.Answer {
        let now = services.clock.now()
        guard let cookie = request.caller.sessionCookie,
            let session = console.state.withTable({ $0.find(cookie, isActivity: true, at: now) })
        else { throw PorticoError(.loginRequired, "The session has ended.") }
        if session.subject == .link {
            throw PorticoError(.accessDenied, "Who signed in by a link does this by `porticoctl`.")
        }
        var input = input
        if case .account = session.subject { input["name"] = .string(session.name) }
        input["link"] = nil
        guard try await prove(input, request.request).subject == session.subject else {
            throw PorticoError(.credentialsInvalid, "This is another one's.")
        }
        let confirmation = identity.formSecret()
        console.state.withTable { $0.confirm(cookie, confirmation, at: now) }
        return ConsoleEndpoint.Answer(value: ["confirmation": .string(confirmation.reveal())])
    }
}

/// A route of the console's sign-in.
struct ConsoleEndpoint: Endpoint {
    struct Answer: Sendable {
        /// Nil: there is none.
        var value: WireValue?
        /// A `Set-Cookie` field.
        var cookie: String?
    }

    let properties: EndpointProperties
    let description: EndpointDescription
    private let input: ObjectShape
    private let services: GatewayServices
    private let perform: @Sendable (AuthenticatedRequest, WireDictionary) async throws -> Answer

    init(
        _ name: String, _ effect: Effect, _ summary: String, input: ObjectShape?, services: GatewayServices,
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> Answer
    ) {
        properties = EndpointProperties(name: "console.\(name)", access: .public, effect: effect, isAudited: false)
        description = EndpointDescription(summary: summary, tag: "Console", body: input)
        self.input = input ?? ObjectShape("Nothing", members: [])
        self.services = services
        self.perform = perform
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try request.request.target.requireQuery(of: [])
        let body = try await services.bodies.bytes(of: request.request, limit: nil)
        let members = try services.bodies.input(
            of: request.request, parameters: request.parameters, body: body, shape: input, queryMembers: [])
        try input.check(members)
        let answer = try await perform(request, members)
        var response = GatewayResponse(.noContent)
        if let value = answer.value {
            response = try services.encoder.write(
                value, to: request.request, presentation: Presentation(omitsNull: false), validators: nil,
                isDone: properties.effect == .writes)
        }
        if let cookie = answer.cookie { response.headers[.setCookie] = cookie }
        return response
    }
}

/// From where a person begins to type to the console.
struct ConsoleRedirectEndpoint: Endpoint {
    let properties = EndpointProperties(name: "console.redirect", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Leads to the console.", tag: "Console", answers: [(.seeOther, .nothing)])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse { .toConsole }
}

extension GatewayResponse {
    static var toConsole: GatewayResponse { GatewayResponse(.seeOther, headers: [.location: "/console/"]) }
}

/// `porticoctl console link`.
struct ConsoleLinkRoutes: Sendable {
    let settings: ConsoleSettings
    let state: ConsoleState
    let identity: Identity
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .post, "/admin/v1/console/links",
                AdministrationEndpoint(
                    "console.link", .grant,
                    "A link that signs in at the console once, as operator, within ten minutes.",
                    services: services
                ) { _, _ in try link() })
        ]
    }

    private func link() throws(PorticoError) -> WireValue {
        let port = state.port.value
        guard port != 0 else {
            throw PorticoError(.recordConflict, "There is no admin listener: `admin.port` begins one.")
        }
        let (secret, now) = (identity.formSecret(), services.clock.now())
        state.withTable { $0.addLink(secret, at: now) }
        let scheme = settings.isSecure ? "https" : "http"
        // Behind `#`, which browsers send to no server and servers write into no log.
        return [
            "url": .string("\(scheme)://\(settings.host):\(port)/console/#link=\(secret.reveal())"),
            "seconds": .int64(Int64(ConsoleSessionTable.linkLifetime)),
        ]
    }
}

/// An account's sign-ins at the console, for operators.
struct ConsoleSessionRoutes: Sendable {
    let state: ConsoleState
    let accounts: AccountAdministration

    private static let chosen = ObjectShape("ConsoleSession", members: [Member("id", .string(maximumLength: 64))])

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/accounts/{name}/console-sessions",
                accounts.endpoint("console.sessions", .read, "An account's sessions at the console.") { request, _ in
                    let account = try await accounts.account(request)
                    let now = accounts.services.clock.now()
                    let sessions = state.withTable { $0.sessions(ofAccount: account.id.text, at: now) }
                    return ["sessions": .array(sessions.map { Self.value($0.id, $0.session) })]
                }),
            accounts.change(
                "console-sessions/revoke", "Ends an account's sessions at the console, or the one named.", Self.chosen,
                isConfirmed: false
            ) { account, input, _ in
                state.withTable { $0.end(input["id"]?.stringValue, ofAccount: account.text) }
            },
        ]
    }

    private static func value(_ id: String, _ session: ConsoleSession) -> WireValue {
        [
            "id": .string(id), "role": .string(session.role.rawValue), "created": .date(session.began.wholeSeconds),
            "lastUsed": .date(session.lastUsed.wholeSeconds),
            "expires": .date(
                WireDate(
                    secondsSinceReferenceDate: session.began.secondsSinceReferenceDate + ConsoleSessionTable.lifetime
                ).wholeSeconds), "address": .string(session.origin.address), "agent": .string(session.origin.agent),
        ]
    }
}
