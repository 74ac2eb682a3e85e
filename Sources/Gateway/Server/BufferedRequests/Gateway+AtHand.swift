import AdapterKit
import HTTPTypes

extension Gateway {
    /// The answer where nothing has to be waited for: the caller is known from memory and the answer is kept or
    /// constant. Nil for everything else and for everything that fails, which ``respond(to:from:)`` then settles: it
    /// takes the same steps in the same order.
    func immediateResponse(to request: GatewayRequest, from caller: Caller, at match: RouteMatch) -> ImmediateResponse?
    {
        guard case .endpoint(let endpoint, let parameters) = match, endpoint.mayRespondImmediately else { return nil }
        let properties = endpoint.properties
        guard (try? admit(caller, request, properties, effect: properties.effect)) != nil,
            let kept = endpoint.immediateResponse(
                to: AuthenticatedRequest(request: request, caller: caller, parameters: parameters)),
            services.answers.isWanted(kept.response, for: request)
        else { return nil }
        guard (try? services.admission.countAddress(of: request)) != nil else { return nil }
        let standing = services.admission.count(caller, of: request)
        guard standing?.isExceeded != true else { return nil }
        // What is added to an empty response comes after the kept answer's fields.
        var own = GatewayResponse(kept.response.status)
        guardian.label(&own, for: request, caller: caller, at: properties, error: nil)
        standing?.label(&own)
        cors.label(&own, for: request)
        return ImmediateResponse(
            kept: kept, isUnchanged: services.answers.isUnchanged(kept.response, for: request),
            isForHead: request.method == .head, fields: own.headers,
            trace: RequestTrace(endpoint: properties.name, caller: caller.principal.name))
    }
}
