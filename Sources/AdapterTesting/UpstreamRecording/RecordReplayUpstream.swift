import AdapterKit
import Synchronization

/// Wraps an upstream: records its answers, replays recorded ones, or injects faults.
///
/// It wraps the upstream before credentials are added: what it records never had them. Recorded, replayed and cut answers are held in
/// memory; all others are streamed.
public final class RecordReplayUpstream: Upstream {
    /// Where answers come from.
    public enum Source: Sendable {
        case upstream
        /// From the upstream, and written down.
        case recorded(Recording)
        /// From files alone; no system is called.
        case replayed(Recording)
    }

    private let upstream: any Upstream
    private let source: Source
    private let chaos: Mutex<Chaos>
    /// Of what is recorded or replayed: how many changes were answered.
    private let changes = Mutex(0)
    private let log: Log

    /// `chaos`: nil injects no faults. Answers that cannot be written down are reported to `log`.
    public init(_ upstream: any Upstream, _ source: Source, _ chaos: Chaos? = nil, log: Log = .discarding) {
        self.upstream = upstream
        self.source = source
        self.chaos = Mutex(chaos ?? Chaos(seed: 0, Chaos.Shares()))
        self.log = log
    }

    /// Replays what was recorded of a system at another place or time: no system is called. `url` ends in a slash; its path
    /// is the one of the recorded system.
    public convenience init(
        replaying recording: Recording, name: UpstreamName = "upstream", url: UpstreamAddress, chaos: Chaos? = nil
    ) {
        self.init(UnreachableUpstream(name: name, url: url), .replayed(recording), chaos)
    }

    public var name: UpstreamName { upstream.name }
    public var url: UpstreamAddress { upstream.url }
    public var actsForCallers: Bool { upstream.actsForCallers }

    public func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamStream
    {
        let fault = chaos.withLock { $0.next() }
        switch fault {
        case .delay(let pause): try await wait(pause)
        case .reset: throw UpstreamFailure(.broken, of: name, detail: "chaos: reset")
        case .fail: return stream(UpstreamResponse(address: request.address, status: 503, fields: [:], body: []))
        case .lie:
            return stream(
                UpstreamResponse(
                    address: request.address, status: 200, fields: ["Content-Type": "text/html"], body: Chaos.page))
        case .none, .truncate, .corrupt: break
        }
        if case .upstream = source {
            switch fault {
            case .truncate, .corrupt: break
            default: return try await upstream.stream(request, for: caller)
            }
        }
        return stream(fault.applied(to: try await answer(request, caller)))
    }

    private func answer(_ request: UpstreamRequest, _ caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamResponse
    {
        switch source {
        case .upstream: return try await upstream.send(request, for: caller)
        case .recorded(let recording):
            let state = changes.withLock { $0 }
            let response = try await upstream.send(request, for: caller)
            if request.isChange { changes.withLock { $0 = min($0 + 1, Recording.mostStates) } }
            do {
                try recording.write(response, to: request, in: state)
            } catch {
                log.warning("answer not recorded", ["upstream": .text(name.text), "detail": .text("\(error)")])
            }
            return response
        case .replayed(let recording):
            guard let response = recording.read(request, in: changes.withLock { $0 }) else {
                throw UpstreamFailure(
                    .unreachable, of: name, detail: "nothing was recorded for \(request.address.logged)")
            }
            if request.isChange { changes.withLock { $0 = min($0 + 1, Recording.mostStates) } }
            return response
        }
    }

    private func wait(_ pause: Duration) async throws(UpstreamFailure) {
        do { try await Task.sleep(for: pause) } catch { throw UpstreamFailure(.cancelled, of: name) }
    }

    private func stream(_ response: UpstreamResponse) -> UpstreamStream {
        UpstreamStream(
            address: response.address, status: response.status, fields: response.fields,
            body: BufferedUpstreamBody(response.body))
    }
}

extension UpstreamRequest {
    /// Whether what is answered later may be something else because of it. A `POST` that only reads says so.
    fileprivate var isChange: Bool {
        switch method {
        case .get, .head: false
        case .post: !isIdempotent
        case .put, .patch, .delete: true
        }
    }
}

extension Chaos.Fault {
    fileprivate func applied(to response: UpstreamResponse) -> UpstreamResponse {
        var body = response.body
        switch self {
        case .truncate(let share): body = Array(body.prefix(Int(Double(body.count) * min(max(share, 0), 1))))
        case .corrupt(let place) where !body.isEmpty:
            body[Int((place >> 3) % UInt64(body.count))] ^= 1 << UInt8(truncatingIfNeeded: place & 7)
        default: break
        }
        return UpstreamResponse(
            address: response.address, status: response.status, fields: response.fields, body: body)
    }
}

/// A system that does not answer.
private struct UnreachableUpstream: Upstream {
    let name: UpstreamName
    let url: UpstreamAddress
    let actsForCallers = false

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        throw UpstreamFailure(.unreachable, of: name)
    }
}
