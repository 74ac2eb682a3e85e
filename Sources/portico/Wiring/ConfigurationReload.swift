import AdapterKit
import Crypto
import Dispatch
import Foundation
import Gateway
import HTTPServer
import HostConfiguration
import Identity
import Logging
import SwiftASN1
import Telemetry
import Upstream
import X509

/// Changes the configuration of the gateway that runs, as a whole or not at all.
///
/// First everything is made that the other configuration needs, and adapters are started beside the ones that answer; a
/// failure ends it there, with nothing changed. Then all of it is put in its place, which cannot fail. What was there
/// answers the requests that it has, and is stopped after the last of them. Why:
/// docs/decisions/0390-reload-by-a-second-generation-of-gateways.md.
actor ConfigurationReload: ConfigurationControl {
    /// What has to run for a change, known once the host is there.
    struct Running {
        let host: Host
        let servers: RunningServers
        let retirements: Retirements
        let levels: LogLevels
    }

    private let read: @Sendable (HostPlan.LoadedPlugins) throws -> HostPlan
    private let logger: Logger
    /// How long the sources may take to be read. An adapter's file may be a pipe without a writer.
    private static let longestRead = DispatchTimeInterval.seconds(30)
    private var queue = DispatchQueue(label: "configuration")
    private var plan: HostPlan
    private var generation: HostGeneration?
    private var running: Running?
    private var isUnderWay = false
    /// Finished when the change under way has ended.
    private var waiting: [AsyncStream<Never>.Continuation] = []

    /// `read` makes a plan of the sources as they are then, with the plugins of this process.
    init(
        _ plan: HostPlan, logger: Logger,
        read: @escaping @Sendable (HostPlan.LoadedPlugins) throws -> HostPlan
    ) {
        self.read = read
        self.plan = plan
        self.logger = logger
    }

    /// To be called once, before anything is served.
    func begin(_ running: Running) {
        self.running = running
        generation = running.host.first
    }

    func settings() -> [ConfiguredSetting] {
        plan.resolved.all.map { key, setting in
            ConfiguredSetting(
                key: key, value: setting.value.written, location: setting.location?.description,
                reloads: plan.reference.reloads(setting.path))
        }
    }

    func check() async -> ConfigurationReport {
        do {
            let next = try await load()
            return ConfigurationReport(ReloadPlan(from: plan, to: next), next)
        } catch {
            return ConfigurationReport(errors: Self.sentences(error))
        }
    }

    /// The same once no other change is under way, whose sources may have been read before what is asked for was
    /// written. Throws where the task is cancelled.
    func applyInTurn(by actor: Principal, from address: String) async throws -> ConfigurationReport {
        while isUnderWay {
            let (end, continuation) = AsyncStream<Never>.makeStream()
            waiting.append(continuation)
            for await _ in end {}
            try Task.checkCancellation()
        }
        return try await apply(by: actor, from: address)
    }

    func apply(by actor: Principal, from address: String) async throws -> ConfigurationReport {
        guard !isUnderWay, let running, let generation else {
            throw PorticoError(.recordConflict, "Another change of the configuration is under way.")
        }
        isUnderWay = true
        defer {
            isUnderWay = false
            for waiting in waiting { waiting.finish() }
            waiting = []
        }
        let next: HostPlan
        do { next = try await load() } catch {
            return report(ConfigurationReport(errors: Self.sentences(error)))
        }
        let changes = ReloadPlan(from: plan, to: next)
        var report = ConfigurationReport(changes, next)
        guard changes.isPossible, !changes.changes.isEmpty else { return self.report(report) }
        do {
            let prepared = try await PreparedReload(changes, next, running.host, after: generation)
            do {
                // What is not in the audit log is not done.
                try await running.host.identity.record(
                    AuditEvent(
                        .configurationApplied, actor: actor.id, address: address,
                        detail: changes.changes.map(\.key).joined(separator: " ")))
                try Task.checkCancellation()
            } catch {
                await prepared.discard(running.host)
                throw error
            }
            running.retirements.add(prepared.use(running))
            plan = next
            self.generation = prepared.generation
            report.isApplied = true
        } catch {
            report.errors = Self.sentences(error)
        }
        return self.report(report)
    }

    private func report(_ report: ConfigurationReport) -> ConfigurationReport {
        let keys = report.changes.map(\.key).joined(separator: ", ")
        if report.isApplied {
            logger.notice("configuration applied", metadata: ["keys": "\(keys)"])
        } else if !report.errors.isEmpty {
            logger.error(
                "configuration not applied", metadata: ["problem": "\(report.errors.joined(separator: " "))"])
        } else if report.changes.isEmpty {
            logger.info("nothing to reload: the configuration is what is used")
        } else {
            let obstacles = report.obstacles.map { "\($0.key): \($0.obstacle ?? "")" }
            logger.error(
                "configuration not applied", metadata: ["problem": "\(obstacles.joined(separator: "; "))"])
        }
        return report
    }

    /// On a thread of its own, and not waited for where the task is cancelled or ``longestRead`` is over: then the next
    /// one has another thread.
    private func load() async throws -> HostPlan {
        let (stream, result) = AsyncStream<Result<HostPlan, any Error>?>.makeStream()
        let (read, plugins) = (read, plan.plugins)
        queue.async { result.yield(Result { try read(plugins) }) }
        let timeout = DispatchWorkItem { result.yield(nil) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.longestRead, execute: timeout)
        defer { timeout.cancel() }
        guard let first = await stream.first(where: { _ in true }) else { throw CancellationError() }
        guard let plan = first else {
            queue = DispatchQueue(label: "configuration")
            throw CommandError("The configuration's files could not be read in time.")
        }
        return try plan.get()
    }

    private static func sentences(_ error: any Error) -> [String] {
        let text = (error as? PorticoError)?.message ?? FileFailure.sentence(error) ?? "\(error)"
        return text.split(separator: "\n").map(String.init)
    }
}

extension ConfigurationReport {
    init(_ plan: ReloadPlan, _ next: HostPlan) {
        self.init(
            changes: plan.changes.map { Change(key: $0.key, old: $0.old, new: $0.new, obstacle: $0.obstacle) },
            warnings: next.warnings)
    }
}

/// What another configuration needs, made and started, and not used yet.
private struct PreparedReload {
    let generation: HostGeneration
    private let plan: HostPlan
    private let upstreams: HostUpstreams.Replacement
    private let adapters: [AdapterReplacement]
    private let starts: [AdapterName: AdapterUpstreams]

    init(_ changes: ReloadPlan, _ plan: HostPlan, _ host: Host, after old: HostGeneration) async throws {
        self.plan = plan
        let upstreams = try await host.upstreams.prepare(changes.upstreams, plan.settings.upstreams)
        self.upstreams = upstreams
        starts = plan.upstreams(of: upstreams.all)
        var start = host.starts.value
        start.upstreams = starts
        var replacements: [AdapterReplacement] = []
        do {
            for planned in plan.adapters where changes.adapters.contains(planned.declaration.name) {
                guard let served = old.adapters.first(where: { $0.declaration.name == planned.declaration.name }) else {
                    continue
                }
                let attempt = start
                replacements.append(
                    try await host.supervisor.prepare(planned.adapter, of: served) {
                        try await attempt.run(served, planned.adapter)
                    })
            }
            generation = try await host.assembly.generation(plan, after: old, keepsSync: changes.keepsSync)
        } catch {
            for replacement in replacements { await host.supervisor.discard(replacement) }
            await host.upstreams.discard(upstreams)
            throw error
        }
        adapters = replacements
    }

    func discard(_ host: Host) async {
        for replacement in adapters { await host.supervisor.discard(replacement) }
        await host.upstreams.discard(upstreams)
    }

    /// Puts everything in its place. Returns what is to be stopped.
    func use(_ running: ConfigurationReload.Running) -> Retirement {
        let host = running.host
        host.starts.change(starts)
        let oldUpstreams = host.upstreams.use(upstreams)
        let oldAdapters = adapters.map { host.supervisor.replace($0) }
        running.levels.setGeneral(plan.settings.logLevel)
        let requests = running.servers.use(generation, plan.settings)
        return Retirement(
            requests: requests, adapters: oldAdapters, upstreams: oldUpstreams, supervisor: host.supervisor)
    }
}

/// What another configuration has replaced, until it is stopped.
struct Retirement: Sendable {
    /// How long requests that were begun before are waited for.
    static let longest = Duration.seconds(600)
    private static let interval = Duration.milliseconds(50)

    let requests: [RequestsUnderWay]
    let adapters: [AdapterReplacement]
    let upstreams: [HTTPUpstream]
    let supervisor: AdapterSupervisor

    /// Stops everything after its last request, or at once where the task is cancelled.
    func run() async {
        let deadline = ContinuousClock.now + Self.longest
        for requests in requests { await requests.ended(by: deadline) }
        for adapter in adapters { await supervisor.discard(adapter) }
        for upstream in upstreams {
            // Refreshes of mirrors call them too.
            while upstream.status.active > 0, .now < deadline, (try? await Task.sleep(for: Self.interval)) != nil {}
            await upstream.stop()
        }
    }
}

/// Hands retirements to the service that runs them.
final class Retirements: Sendable {
    let all: AsyncStream<Retirement>
    private let continuation: AsyncStream<Retirement>.Continuation

    init() {
        (all, continuation) = AsyncStream.makeStream()
    }

    func add(_ retirement: Retirement) { continuation.yield(retirement) }
}

/// The name in a certificate, as the audit log keeps it.
enum CertificateSubject {
    /// Unicode scalars: with what stands before it no more than an actor may have.
    private static let longest = 50
    private static let digestBytes = 4

    /// The subject of a certificate (DER) as RFC 4514 writes it, control characters replaced. One that is too long, or
    /// none, has a part of the certificate's digest, so that two of them differ.
    static func name(_ certificate: [UInt8]) -> String {
        let subject = (try? Certificate(derEncoded: certificate))?.subject.description ?? ""
        let scalars = subject.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }
        guard scalars.isEmpty || scalars.count > longest else { return String(String.UnicodeScalarView(scalars)) }
        let digest = SHA256.hash(data: certificate).prefix(digestBytes).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        return String(String.UnicodeScalarView(scalars.prefix(longest - digest.count - 1))) + "~" + digest
    }
}
