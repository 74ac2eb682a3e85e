import HTTPTypes
import NIOCore
import NIOHTTP1

extension GatewayConnection {
    /// The whole response, logged, where the gateway has it at hand. On the channel's event loop.
    func responseAtHand(to held: HeldRequest, _ peer: PeerAddress.OfConnection) -> GatewayResponse? {
        let began = ContinuousClock.now
        guard held.head.uri.utf8.count <= gateway.services.limits.uri, let fields = held.fields,
            let method = HTTPRequest.Method(rawValue: held.head.method.rawValue),
            let target = RequestTarget(held.head.uri)
        else { return nil }
        let id = ids.next()
        let request = GatewayRequest(
            id: id, method: method, target: target, headers: fields, peer: peers.peer(peer, fields),
            body: .bytes(held.body.map { Array($0.readableBytesView) } ?? []), deadline: began + settings.request)
        guard let (answered, trace) = gateway.responseAtHand(to: request) else { return nil }
        var response = answered
        label(&response, isLast: false)
        logAccess(method, held.head.uri, response, trace, id: id, began: began)
        return response
    }
}
