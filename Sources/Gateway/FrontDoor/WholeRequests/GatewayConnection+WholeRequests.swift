import HTTPTypes
import NIOCore
import NIOHTTP1

extension GatewayConnection {
    /// The whole response, logged, where the gateway has it at hand. On the channel's event loop.
    func responseAtHand(to held: HeldRequest, _ peer: PeerAddress.OfConnection) -> WireResponse? {
        let began = ContinuousClock.now
        guard held.head.uri.utf8.count <= gateway.services.limits.uri, let fields = held.fields,
            let method = HTTPRequest.Method(rawValue: held.head.method.rawValue),
            let target = RequestTarget(held.head.uri)
        else { return nil }
        let id = ids.next()
        let request = GatewayRequest(
            id: id, method: method, target: target, headers: fields, peer: peers.peer(peer, fields),
            body: .bytes(held.body.map { Array($0.readableBytesView) } ?? []), deadline: began + settings.request)
        guard let answer = gateway.answerAtHand(to: request) else { return nil }
        logAccess(
            method, LoggedPath.text(target.path)[...], status: answer.status, bytes: answer.bytes, answer.trace, id: id,
            began: began)
        return WireResponse(answer, date: dates.text(), id: id)
    }
}
