import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// What the operators' routes about one account share.
struct AccountAdministration: Sendable {
    let identity: Identity
    let services: GatewayServices

    func endpoint(
        _ name: String, _ effect: Effect, _ summary: String, _ input: ObjectShape? = nil,
        _ perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) -> AdministrationEndpoint {
        AdministrationEndpoint(name, effect, summary, input: input, services: services, perform: perform)
    }

    /// `POST /admin/v1/accounts/{name}/ACTION`, which answers nothing.
    func change(
        _ action: String, _ summary: String, _ input: ObjectShape? = nil,
        _ perform: @escaping @Sendable (AccountID, WireDictionary, Principal) async throws -> Void
    ) -> Route {
        let path = PathTemplate(stringLiteral: "/admin/v1/accounts/{name}/\(action)")
        return Route(
            .post, path,
            endpoint("accounts.\(action)", .writes, summary, input) { request, input in
                try await perform(try await account(request).id, input, request.caller.principal)
                return nil
            })
    }

    /// The account that the path names.
    func account(_ request: AuthenticatedRequest) async throws -> Account {
        guard let name = AccountName(request["name"]),
            let account = try await identity.administration.account(named: name)
        else { throw PorticoError(.recordNotFound, "There is no account of this name.") }
        return account
    }
}
