import AdapterKit
import HTTPTypes
import NIOCore

extension GatewayConnection {
    /// The last response of a connection whose request is not let in. The request stays unread, so JSON it is.
    func refusal(_ error: PorticoError, peer: String) -> GatewayResponse {
        let id = ids.next()
        var response = failure(error, id: id, method: .get, headers: [:])
        label(&response, isLast: true)
        log(access(.get, "-", response, RequestTrace(endpoint: "refused"), id: id, began: .now))
        return response
    }

    /// The error response to a request that the gateway does not answer, in the shape of the contract at its path.
    func failure(
        _ error: any Error, id: String, method: HTTPRequest.Method, headers: HTTPFields, target: RequestTarget = .root
    ) -> GatewayResponse {
        let bare = GatewayRequest(
            id: id, method: method, target: target, headers: headers, peer: "", body: .bytes([]), deadline: .now)
        var response = gateway.refusal(PorticoError(unexpected: error), of: bare)
        if method == .head { response.omitBody() }
        response.headers[.xRequestID] = id
        return response
    }

    /// `OPTIONS *`: the methods that some path takes (RFC 9110, section 9.3.7).
    func wholeServer(id: String) -> GatewayResponse {
        GatewayResponse(
            .noContent, headers: [.allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", .xRequestID: id])
    }
}
