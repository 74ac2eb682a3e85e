import AdapterKit
import HTTPTypes

extension Gateway {
    /// The response where nothing has to be waited for: the caller is known from memory and the answer is kept or
    /// constant. Nil for everything else and for everything that fails, which ``respond(to:)`` then settles: it takes
    /// the same steps in the same order.
    func responseAtHand(to request: GatewayRequest) -> (response: GatewayResponse, trace: RequestTrace)? {
        guard case .endpoint(let endpoint, let parameters) = routes.match(request.method, request.target.segments),
            endpoint.mayAnswerAtHand, let caller = authenticator.callerAtHand(of: request)
        else { return nil }
        let properties = endpoint.properties
        guard (try? admit(caller, request, properties)) != nil,
            let full = endpoint.answerAtHand(
                to: AuthenticatedRequest(request: request, caller: caller, parameters: parameters))
        else { return nil }
        guard (try? services.admission.countAddress(of: request)) != nil else { return nil }
        let standing = services.admission.count(caller, of: request)
        guard standing?.isExceeded != true else { return nil }
        var response = services.answers.revalidated(full, for: request)
        guardian.label(&response, for: request, caller: caller, error: nil)
        standing?.label(&response)
        finish(&response, for: request)
        return (response, RequestTrace(endpoint: properties.name, caller: caller.principal.name))
    }
}
