import AdapterKit
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that arrived whole, as the gateway reads it.
struct BufferedRequest: Sendable {
    let request: GatewayRequest
    let match: RouteMatch
    /// Nil where memory does not know.
    let caller: Caller?
    let began: ContinuousClock.Instant
}

extension GatewayConnection {
    /// Nil for a request that is not well-formed or too long: the asynchronous layer says so.
    func request(
        _ held: PartialRequest, _ peer: PeerAddress.OfConnection, _ head: inout RepeatedHead,
        _ credential: inout ConnectionCredential
    ) -> BufferedRequest? {
        let began = ContinuousClock.now
        guard let reading = held.known?.reading ?? read(held, peer, &head) else { return nil }
        held.known?.reading = reading
        let (said, target) = (reading.said, reading.target)
        let request = GatewayRequest(
            id: ids.next(), method: reading.method, target: target, headers: said.fields, peer: said.peer,
            origin: said.origin, body: .bytes(held.body.map { Array($0.readableBytesView) } ?? []),
            deadline: began + settings.request)
        return BufferedRequest(
            request: request, match: reading.match,
            caller: gateway.authenticator.immediateCaller(of: request, &credential), began: began)
    }

    private func read(
        _ held: PartialRequest, _ peer: PeerAddress.OfConnection, _ head: inout RepeatedHead
    ) -> HeadReading? {
        let uri = held.head.uri
        guard uri.utf8.count <= gateway.services.limits.uri,
            let said = head.repeated(by: held.head.headers) ?? said(by: held, peer, &head),
            let method = HTTPRequest.Method(rawValue: held.head.method.rawValue), let target = head.target(of: uri)
        else { return nil }
        return HeadReading(
            said: said, method: method, target: target, match: head.match(method, target, in: gateway.routes))
    }

    /// Nil where a name is none.
    private func said(
        by held: PartialRequest, _ peer: PeerAddress.OfConnection, _ head: inout RepeatedHead
    ) -> RepeatedHead.Said? {
        let headers = held.head.headers
        guard let fields = HTTPFields(withoutHost: headers) else { return nil }
        let said = RepeatedHead.Said(
            fields: fields, peer: peers.peer(peer, fields), origin: peers.origin(of: held.host, peer, fields))
        head.remember(said, of: headers)
        return said
    }

    /// The whole response, logged, where the gateway has it at hand. On the channel's event loop.
    func immediateResponse(to whole: BufferedRequest) -> WireResponse? {
        let request = whole.request
        guard let caller = whole.caller,
            let answer = gateway.immediateResponse(to: request, from: caller, at: whole.match)
        else { return nil }
        log(
            access(
                request.method, LoggedPath.text(request.target.path)[...], status: answer.status, bytes: answer.bytes,
                answer.trace, id: request.id, began: whole.began))
        return WireResponse(answer, date: dates.field(), id: request.id)
    }

    /// Answers in a task that the deadlines' keeper owns, away from the event loop: adapters may block. The result is
    /// cancelled where nobody waits for the answer any more; nil where it is there already.
    func answer(_ whole: BufferedRequest, on channel: BufferedRequestChannel) -> (any CancellableWork)? {
        let (request, gateway) = (whole.request, gateway)
        do {
            try places.take(for: request.target.path)
        } catch {
            send(.failure(error), to: whole, on: channel)
            return nil
        }
        let late = PorticoError(.deadlineExceeded, "The request took too long.")
        return gateway.services.deadlines.start(until: request.deadline, late: late) {
            await gateway.respond(to: request, from: whole.caller, at: whole.match)
        } whenDone: { [self] result in
            places.leave()
            send(result, to: whole, on: channel)
        }
    }

    private func send(
        _ result: Result<(response: GatewayResponse, trace: RequestTrace), any Error>, to whole: BufferedRequest,
        on channel: BufferedRequestChannel
    ) {
        let request = whole.request
        var (response, trace) =
            switch result {
            case .success(let answered): answered
            case .failure(let error):
                (
                    failure(
                        error, id: request.id, method: request.method, headers: request.headers, target: request.target),
                    RequestTrace()
                )
            }
        label(&response, isLast: response.closesConnection)
        let access = access(
            request.method, LoggedPath.text(request.target.path)[...], response, trace, id: request.id,
            began: whole.began)
        guard let stream = response.stream else {
            log(access)
            return channel.finish(response)
        }
        channel.finish(response, stream) { [self] in log(access?.sent($0)) }
    }
}
