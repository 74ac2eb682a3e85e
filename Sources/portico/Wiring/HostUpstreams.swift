import AdapterKit
import Gateway
import Identity
import Upstream
import UpstreamRecording

/// The configured upstreams as they run: one client each, shared by all that use it.
struct HostUpstreams: Sendable {
    /// The clients without credentials. Sign-in providers use them before there are accounts.
    struct Transports: Sendable {
        let all: [UpstreamName: HTTPUpstream]

        init(_ plans: [UpstreamName: UpstreamPlan], log: Log) {
            all = plans.mapValues { HTTPUpstream($0.settings, log: log) }
        }

        func transport(_ name: UpstreamName) throws -> HTTPUpstream {
            guard let transport = all[name] else { throw CommandError("There is no upstream \(name).") }
            return transport
        }
    }

    /// With their credentials.
    let all: [UpstreamName: any Upstream]
    private let plans: [UpstreamName: UpstreamPlan]
    private let transports: Transports

    init(_ transports: Transports, _ plans: [UpstreamName: UpstreamPlan], identity: Identity, log: Log) throws {
        self.transports = transports
        self.plans = plans
        var all: [UpstreamName: any Upstream] = [:]
        for (name, plan) in plans {
            let transport = try transports.transport(name)
            switch plan.credentials {
            case .own(let credentials):
                let audience = credentials.tokenURL?.description ?? ""
                all[name] = AuthorizedUpstream(transport, credentials, clock: SystemClock()) {
                    try await identity.subjectToken(about: $0, audience: audience)
                }
            case .portal(let provider):
                guard let upstream = identity.upstream(transport, behind: provider) else {
                    throw CommandError("upstreams.\(name): there is no portal \(provider).")
                }
                all[name] = upstream
            }
            if plan.isRehearsed, let upstream = all[name] {
                log.warning(
                    "answers of an upstream are recorded, replayed or disturbed", ["upstream": .text(name.text)])
                all[name] = RecordReplayUpstream(upstream, plan.source, plan.chaos, log: log)
            }
        }
        self.all = all
    }

    /// By name.
    var statuses: [UpstreamStatus] {
        transports.all.values.map(\.status).sorted { $0.name.text < $1.name.text }
    }

    /// After the last call.
    func stop() async {
        for transport in transports.all.values { await transport.stop() }
    }
}

extension HostUpstreams: UpstreamDirectory {
    var reports: [UpstreamReport] {
        transports.all.values.map { transport in
            let status = transport.status
            return UpstreamReport(
                name: status.name, url: status.url.description, credentials: plans[status.name]?.kind ?? "none",
                active: status.active, waiting: status.waiting, openCircuits: status.openCircuits,
                calls: status.figures.calls, retries: status.figures.retries,
                lastFailure: status.figures.lastFailure.map { "\($0.kind.rawValue): \($0.detail)" })
        }.sorted { $0.name.text < $1.name.text }
    }

    /// An upstream that is called in its callers' names is asked without credentials.
    func test(_ name: UpstreamName) async -> UpstreamTest? {
        guard let transport = transports.all[name], let upstream = all[name] else { return nil }
        let start = ContinuousClock.now
        func milliseconds() -> Int { Int(start.duration(to: .now) / .milliseconds(1)) }
        let request = UpstreamRequest(.get, transport.url)
        do throws(UpstreamFailure) {
            let stream = try await (upstream.actsForCallers ? transport as any Upstream : upstream).stream(request)
            stream.body.cancel()
            return UpstreamTest(milliseconds: milliseconds(), status: stream.status, failure: nil)
        } catch {
            return UpstreamTest(
                milliseconds: milliseconds(), status: nil, failure: "\(error.kind.rawValue): \(error.detail)")
        }
    }
}
