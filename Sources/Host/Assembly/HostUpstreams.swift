import AdapterKit
import Gateway
import Identity
import Synchronization
import Upstream
import UpstreamRecording

/// The configured upstreams as they run: one client each, shared by all that use it. A change of the configuration
/// replaces clients behind those who hold them.
final class HostUpstreams: Sendable {
    /// The clients without credentials. Sign-in providers use them before there are accounts.
    struct Transports: Sendable {
        let all: [UpstreamName: HTTPUpstream]

        init(_ plans: [UpstreamName: UpstreamPlan], log: Log) {
            all = plans.mapValues { HTTPUpstream($0.settings, log: log) }
        }

        func transport(_ name: UpstreamName) throws -> HTTPUpstream {
            guard let transport = all[name] else { throw HostCommandError("There is no upstream \(name).") }
            return transport
        }
    }

    /// One upstream with its configuration.
    fileprivate struct Running: Sendable {
        let plan: UpstreamPlan
        let transport: HTTPUpstream
        /// With its credentials.
        let authorized: any Upstream
        /// What has its tokens; nil: a portal's cookies are its credentials.
        let tokens: AuthorizedUpstream?
    }

    /// Upstreams of another configuration, before they are used.
    struct Replacement: Sendable {
        fileprivate let running: [UpstreamName: Running]
        fileprivate let removed: Set<UpstreamName>
        /// What adapters get that start with the other configuration.
        let all: [UpstreamName: any Upstream]
        /// Without credentials, for sign-in providers.
        let transports: [UpstreamName: HTTPUpstream]
        fileprivate let references: [UpstreamName: ReplaceableUpstream]
    }

    private struct State {
        var running: [UpstreamName: Running]
        var references: [UpstreamName: ReplaceableUpstream]
    }

    private let state: Mutex<State>
    private let identity: Identity
    private let log: Log

    init(_ transports: Transports, _ plans: [UpstreamName: UpstreamPlan], identity: Identity, log: Log) throws {
        (self.identity, self.log) = (identity, log)
        var running: [UpstreamName: Running] = [:]
        for (name, plan) in plans {
            running[name] = try Self.running(plan, try transports.transport(name), identity, log)
        }
        state = Mutex(State(running: running, references: running.mapValues { ReplaceableUpstream($0.authorized) }))
        identity.observeRevocations { [weak self] account in self?.forgetTokens(of: account) }
    }

    private func forgetTokens(of account: String) {
        for running in state.withLock({ $0.running }).values { running.tokens?.forget(account) }
    }

    private static func running(
        _ plan: UpstreamPlan, _ transport: HTTPUpstream, _ identity: Identity, _ log: Log
    ) throws -> Running {
        var authorized: any Upstream
        var tokens: AuthorizedUpstream?
        switch plan.credentials {
        case .own(let credentials):
            let audience = credentials.tokenURL?.description ?? ""
            let own = AuthorizedUpstream(transport, credentials, clock: SystemClock()) {
                try await identity.subjectToken(about: $0, audience: audience)
            }
            (authorized, tokens) = (own, own)
        case .portal(let provider):
            // That the portal is configured was checked.
            authorized = identity.upstream(transport, behind: provider)
        }
        if plan.isRehearsed {
            log.warning(
                "answers of an upstream are recorded, replayed or disturbed",
                ["upstream": .text(plan.settings.name.text)])
            authorized = RecordReplayUpstream(authorized, plan.source, plan.chaos, log: log)
        }
        return Running(plan: plan, transport: transport, authorized: authorized, tokens: tokens)
    }

    /// With their credentials.
    var all: [UpstreamName: any Upstream] { state.withLock { $0.references.mapValues { $0 as any Upstream } } }

    /// Makes the upstreams of these names anew, as `plans` have them.
    func prepare(_ names: Set<UpstreamName>, _ plans: [UpstreamName: UpstreamPlan]) async throws -> Replacement {
        var running: [UpstreamName: Running] = [:]
        var (references, transports) = state.withLock { ($0.references, $0.running.mapValues(\.transport)) }
        let removed = Set(references.keys).subtracting(plans.keys)
        do {
            for name in names.sorted() {
                guard let plan = plans[name] else { continue }
                let transport = HTTPUpstream(plan.settings, log: log)
                do {
                    let made = try Self.running(plan, transport, identity, log)
                    (running[name], transports[name]) = (made, transport)
                    if references[name] == nil { references[name] = ReplaceableUpstream(made.authorized) }
                } catch {
                    await transport.stop()
                    throw error
                }
            }
        } catch {
            for made in running.values { await made.transport.stop() }
            throw error
        }
        for name in removed { references[name] = nil }
        return Replacement(
            running: running, removed: removed, all: references.mapValues { $0 as any Upstream },
            transports: transports,
            references: references)
    }

    func discard(_ replacement: Replacement) async {
        for made in replacement.running.values { await made.transport.stop() }
    }

    /// Calls from now on go to the replacement. Returns what is to be stopped after its last call.
    func use(_ replacement: Replacement) -> [HTTPUpstream] {
        state.withLock { state in
            var old: [HTTPUpstream] = []
            for (name, made) in replacement.running {
                if let before = state.running.updateValue(made, forKey: name) { old.append(before.transport) }
                replacement.references[name]?.replace(with: made.authorized)
            }
            for name in replacement.removed {
                if let before = state.running.removeValue(forKey: name) { old.append(before.transport) }
            }
            state.references = replacement.references
            return old
        }
    }

    /// By name.
    var statuses: [UpstreamStatus] {
        state.withLock { $0.running.values.map(\.transport.status) }.sorted { $0.name.text < $1.name.text }
    }

    /// After the last call.
    func stop() async {
        for running in state.withLock({ $0.running }).values { await running.transport.stop() }
    }
}

/// An upstream whose configuration may change while others hold it.
final class ReplaceableUpstream: Upstream {
    private let upstream: Mutex<any Upstream>

    init(_ upstream: any Upstream) {
        self.upstream = Mutex(upstream)
    }

    private var current: any Upstream { upstream.withLock { $0 } }

    func replace(with other: any Upstream) { upstream.withLock { $0 = other } }

    var name: UpstreamName { current.name }
    var url: UpstreamAddress { current.url }
    var actsForCallers: Bool { current.actsForCallers }

    func stream(
        _ request: UpstreamRequest, for caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamStream {
        try await current.stream(request, for: caller)
    }

    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse {
        try await current.send(request, for: caller)
    }
}

extension HostUpstreams: UpstreamDirectory {
    var reports: [UpstreamReport] {
        state.withLock({ $0.running }).values.map { running in
            let status = running.transport.status
            return UpstreamReport(
                name: status.name, url: status.url.description, credentials: running.plan.kind,
                active: status.active, waiting: status.waiting, openCircuits: status.openCircuits,
                calls: status.figures.calls, retries: status.figures.retries,
                lastFailure: status.figures.lastFailure.map { "\($0.kind.rawValue): \($0.detail)" },
                lastFailureAge: status.figures.lastFailureTime.map { $0.duration(to: .now) / .seconds(1) },
                nextAttempt: status.nextAttempt.map { max(0, ContinuousClock.now.duration(to: $0) / .seconds(1)) })
        }.sorted { $0.name.text < $1.name.text }
    }

    /// An upstream that is called in its callers' names is asked without credentials, and one whose circuit breaker is open
    /// as by the request of a half-open one.
    func test(_ name: UpstreamName) async -> UpstreamTest? {
        guard let running = state.withLock({ $0.running[name] }) else { return nil }
        let (transport, upstream) = (running.transport, running.authorized)
        let start = ContinuousClock.now
        func milliseconds() -> Int { Int(start.duration(to: .now) / .milliseconds(1)) }
        let request = UpstreamRequest(.get, transport.url)
        do {
            let stream = try await CallContext.$isOperatorTry.withValue(true) {
                try await (upstream.actsForCallers ? transport as any Upstream : upstream).stream(request)
            }
            stream.body.cancel()
            return UpstreamTest(milliseconds: milliseconds(), status: stream.status, failure: nil)
        } catch {
            let failure = error as? UpstreamFailure
            return UpstreamTest(
                milliseconds: milliseconds(), status: nil,
                failure: failure.map { "\($0.kind.rawValue): \($0.detail)" } ?? "\(error)")
        }
    }
}
