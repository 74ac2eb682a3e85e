import AdapterKit
import HTTPTypes
import Identity
import ValueTree
import WireFormats

/// `POST /auth/refresh`: the next pair of tokens for a refresh token.
struct RefreshEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "Refresh", members: [Member("refreshToken", .string(maximumLength: 1_024), isRequired: true)])

    let properties = EndpointProperties(name: "auth.refresh", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Exchanges a refresh token; each is good for one exchange.", tag: "Sign-in",
        body: RefreshEndpoint.input,
        answers: [(.ok, .value(AccountShapes.tokens))], errors: [.csrfRequired])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.refuseForeignPage(request.request)
        let input = try await accounts.input(request, Self.input)
        try accounts.negotiate(request)
        let pair = try await accounts.identity.refresh(input.secret("refreshToken"))
        return try accounts.response(.dictionary(AccountServices.tokens(pair)), to: request)
    }
}

/// `POST /auth/logout`: ends the sign-in, or every one of the account.
struct LogoutEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "Logout",
        members: [
            Member("everywhere", .bool, defaultValue: false, summary: "Every sign-in of the account."),
            Member("page", .bool, summary: "Of the sign-in page."),
        ])

    let properties = EndpointProperties(name: "auth.logout", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Signs out.", tag: "Sign-in", body: LogoutEndpoint.input, needsBody: false,
        answers: [(.noContent, .nothing), (.seeOther, .nothing)])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.refuseForeignPage(request.request)
        let authentication = try request.caller.person()
        let input = try await accounts.input(request, Self.input)
        if input["everywhere"]?.boolValue == true {
            try await accounts.identity.signOutEverywhere(authentication)
        } else {
            try await accounts.identity.signOut(authentication)
        }
        var response =
            request.request.isSentByForm
            ? GatewayResponse(.seeOther, headers: [.location: SignInPage.path]) : GatewayResponse(.noContent)
        response.headers[.setCookie] = accounts.cookie.removal
        return response
    }
}

/// `GET /auth/me`: whose credential this is.
struct MeEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.me", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "The account that the credential belongs to.", tag: "Sign-in",
        answers: [(.ok, .value(AccountShapes.user))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.response(AccountServices.user(request.caller.principal), to: request)
    }
}

/// `POST /auth/password`: changes the password; the old one is required.
struct PasswordEndpoint: Endpoint {
    let accounts: AccountServices

    static let input = ObjectShape(
        "PasswordChange",
        members: [
            Member("old", .string(maximumLength: 1_024), isRequired: true),
            Member("new", .string(maximumLength: 1_024), isRequired: true),
        ])

    let properties = EndpointProperties(name: "auth.password", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Changes the password and ends every other sign-in.", tag: "Sign-in", body: PasswordEndpoint.input,
        answers: [(.noContent, .nothing)])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try accounts.refuseForeignPage(request.request)
        let authentication = try request.caller.person()
        let input = try await accounts.input(request, Self.input)
        try await accounts.identity.changePassword(
            authentication, old: input.secret("old"), new: input.secret("new"),
            from: ClientAddress(request.request.peer))
        return GatewayResponse(.noContent)
    }
}

/// `GET /auth/jwks.json`: the public keys of the access tokens (RFC 7517), always JSON.
struct KeySetEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.jwks", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "The public keys of the access tokens.", tag: "Sign-in",
        answers: [(.ok, .document(mediaType: "application/json"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        GatewayResponse(
            .ok, headers: [.contentType: "application/json", .cacheControl: "public, max-age=300"],
            body: try accounts.services.catalogue.json.write(accounts.identity.jwks()))
    }
}

/// `GET /auth/sessions`: where one is signed in.
struct SessionListEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.sessions", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "The caller's own sign-ins, oldest first.", tag: "Sign-in",
        answers: [(.ok, .value(AccountShapes.sessions))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        let sessions = try await accounts.identity.administration.sessions(of: authentication.account)
        let items = sessions.map { session in
            var value = AccountShapes.value(of: session)
            value["current"] = .bool(session.id == authentication.session)
            return WireValue.dictionary(value)
        }
        return try accounts.response(["sessions": .array(items)], to: request)
    }
}

/// `DELETE /auth/sessions/{id}`: signs out elsewhere.
struct SessionEndEndpoint: Endpoint {
    let accounts: AccountServices

    let properties = EndpointProperties(name: "auth.sessions.end", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Ends one of the caller's own sign-ins.", tag: "Sign-in", answers: [(.noContent, .nothing)],
        errors: [.recordNotFound])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let authentication = try request.caller.person()
        guard let id = SessionID(request["id"]) else {
            throw PorticoError(.recordNotFound, "There is no such session.")
        }
        try await accounts.identity.administration.revokeSession(
            id, of: authentication.account, by: authentication.principal)
        return GatewayResponse(.noContent)
    }
}
