import AdapterKit
import HTTPTypes
import ValueTree

/// A route of the admin socket. There are many and they are small, so one type serves them all.
struct AdministrationEndpoint: Endpoint {
    let properties: EndpointProperties
    let description: EndpointDescription
    private let input: ObjectShape?
    private let services: GatewayServices
    private let perform: @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?

    /// `perform` gets the checked input and answers a value, or nil for none.
    init(
        _ name: String, _ effect: Effect, _ summary: String, input: ObjectShape? = nil, services: GatewayServices,
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) {
        properties = EndpointProperties(name: "admin.\(name)", access: .login, effect: effect)
        description = EndpointDescription(summary: summary, tag: "Administration", body: input)
        self.input = input
        self.services = services
        self.perform = perform
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        var members = WireDictionary()
        if let input {
            let body = try await services.bodies.bytes(of: request.request, limit: nil)
            members = try services.bodies.input(of: request, body: body, shape: input, queryMembers: [])
            try input.check(members)
        }
        guard let value = try await perform(request, members) else { return GatewayResponse(.noContent) }
        return try services.answers.write(
            value, to: request.request, presentation: Presentation(omitsNull: false), validators: nil,
            isDone: properties.effect == .writes)
    }
}

extension AuthenticatedRequest {
    /// A path parameter; the route has it.
    subscript(name: FieldName) -> String { parameters[name] ?? "" }
}
