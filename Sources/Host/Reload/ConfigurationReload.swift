import AdapterKit
import AttachmentFiles
import Backups
import Dispatch
import Foundation
import Gateway
import HTTPServer
import HostConfiguration
import Identity
import Logging
import Push
import RecordStorage
import SQLiteStore
import SyncEngine
import Telemetry
import Upstream

/// Changes the configuration of the gateway that runs, as a whole or not at all.
///
/// First everything is made that the other configuration needs, and adapters are started beside the ones that answer; a
/// failure ends it there, with nothing changed. Then all of it is put in its place, which cannot fail. What was there
/// answers the requests that it has, and is stopped after the last of them. Why:
/// docs/decisions/0390-reload-by-a-second-generation-of-gateways.md.
actor ConfigurationReload: ConfigurationControl {
    /// Makes a plan of the sources as they are, with the plugins of this process and these packages. Last, whether keys of what
    /// is not there are warnings.
    typealias Reading = @Sendable (HostPlan.PluginPrograms, InstalledReleases, Bool) throws -> HostPlan

    /// What has to run for a change, known once the host is there.
    struct Running {
        let host: Host
        let servers: RunningServers
        let retirements: Retirements
        let levels: LogLevels
    }

    private let read: Reading
    private let logger: Logger
    /// How long the sources may take to be read. An adapter's file may be a pipe without a writer.
    private static let longestRead = DispatchTimeInterval.seconds(30)
    /// Characters of the keys that an audit entry names (``AuditEvent/detail`` has 1024).
    private static let longestKeys = 1_000
    private var queue = DispatchQueue(label: "configuration")
    private var plan: HostPlan
    private var generation: HostGeneration?
    private var running: Running?
    private var isUnderWay = false
    /// Finished when the change under way has ended.
    private var waiting: [AsyncStream<Never>.Continuation] = []

    init(
        _ plan: HostPlan, logger: Logger,
        read: @escaping Reading
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
            return try await report(ReloadPlan(from: plan, to: next), next)
        } catch {
            return ConfigurationReport(errors: Self.sentences(error))
        }
    }

    /// The same once no other change is under way, whose sources may have been read before what is asked for was
    /// written. Throws where the task is cancelled.
    func applyInTurn(by actor: Principal, from address: String) async throws -> ConfigurationReport {
        try await waitForTurn()
        return try await apply(by: actor, from: address)
    }

    /// Returns when no change is under way.
    private func waitForTurn() async throws {
        while isUnderWay {
            let (end, continuation) = AsyncStream<Never>.makeStream()
            waiting.append(continuation)
            for await _ in end {}
            try Task.checkCancellation()
        }
    }

    func apply(by actor: Principal, from address: String) async throws -> ConfigurationReport {
        guard !isUnderWay, let running, let generation else {
            throw PorticoError(.recordConflict, "Another change of the configuration is under way.")
        }
        isUnderWay = true
        defer { end() }
        let next: HostPlan
        do { next = try await load() } catch {
            return report(ConfigurationReport(errors: Self.sentences(error)))
        }
        let changes = ReloadPlan(from: plan, to: next)
        var report = try await report(changes, next)
        guard changes.isPossible, report.errors.isEmpty, !changes.changes.isEmpty else { return self.report(report) }
        do {
            // What is not in the audit log is not done.
            try await exchange(changes, next, running, generation) {
                try await running.host.identity.record(
                    AuditEvent(
                        .configurationApplied, actor: actor.id, address: address,
                        detail: Self.detail(changes.changes.map(\.key))))
            }
            report.isApplied = true
        } catch {
            report.errors = Self.sentences(error)
        }
        return self.report(report)
    }

    /// Changes one adapter that was installed, as a whole or not at all, once no other change is under way. Throws
    /// ``PorticoError``.
    func deploy(_ deployment: Deployment) async throws -> [String] {
        try await waitForTurn()
        guard let running, let generation else {
            throw PorticoError(.adapterUnavailable, "The gateway is still starting.", retryAfter: 1)
        }
        isUnderWay = true
        defer { end() }
        let (name, request) = (deployment.name, deployment.request)
        do {
            let next = try await load(deployment.packages(plan.packages), toleratesUnknown: true)
            let unread = next.resolved.unread.filter { $0.path.starts(with: ["adapters", name.text]) }
            if !deployment.ignoresUnread, !unread.isEmpty {
                throw PorticoError(
                    .recordConflict,
                    unread.map {
                        "There is no key \($0.path.joined(separator: ".")) in the version that is to serve (\($0.location))."
                    }
                    .joined(separator: " ") + " Take it out of the configuration, and try again.")
            }
            let changes = ReloadPlan(from: plan, to: next, renewing: [name])
            let others = changes.changes.filter { $0.adapter != name }.map(\.key)
            guard others.isEmpty else {
                throw PorticoError(
                    .recordConflict,
                    "The configuration's sources change more than this adapter (\(others.joined(separator: ", "))): "
                        + "use them first, with porticoctl config apply.")
            }
            if let obstacle = changes.obstacle ?? changes.changes.compactMap(\.obstacle).first {
                throw PorticoError(.recordConflict, "The adapter \(name): \(obstacle).")
            }
            let change = try await schemaChange(changes, next)
            if let refusal = change?.refusals.first {
                throw PorticoError(.recordConflict, "The store cannot be migrated: \(refusal).")
            }
            if deployment.hidesNothing, !request.acceptsLoss, let loss = change?.losses, !loss.isEmpty {
                throw PorticoError(
                    .preconditionFailed,
                    "The change would hide stored values (\(loss.map(\.description).joined(separator: "; "))). "
                        + "To make it all the same, use --accept-loss.")
            }
            let renamed = plan.collectionsRenamed(by: next)
            if !deployment.mayRename, !request.acceptsLoss, !renamed.isEmpty {
                throw PorticoError(
                    .preconditionFailed,
                    "The change would rename collections that devices sync (\(renamed.joined(separator: "; "))), and changes that "
                        + "devices have queued for them would be refused. To make it all the same, use --accept-loss.")
            }
            let sentences = (change?.items.map(\.description) ?? []) + renamed
            guard !request.isDryRun else { return sentences }
            try await exchange(changes, next, running, generation) {
                func record(_ detail: String) async throws {
                    try await running.host.identity.record(
                        AuditEvent(
                            .adapterDeployed, actor: request.actor.id, subject: name.text, address: request.address,
                            detail: detail))
                }
                // What is not in the audit log is not done; what was not done has a second entry.
                try await record(deployment.summary)
                do { try await deployment.commit() } catch {
                    do { try await record("\(deployment.summary): failed, nothing has changed") } catch {
                        logger.error(
                            "the audit log names a change that failed",
                            metadata: ["adapter": "\(name)", "change": "\(deployment.summary)"])
                    }
                    throw error
                }
            }
            for key in unread { logger.warning("configuration", metadata: ["warning": "\(key.warning)"]) }
            logger.notice("adapter deployed", metadata: ["adapter": "\(name)", "change": "\(deployment.summary)"])
            return sentences
        } catch {
            if let error = error as? PorticoError { throw error }
            throw PorticoError(.recordConflict, Self.sentences(error).joined(separator: " "))
        }
    }

    /// As many keys as the audit log takes, and how many there are beside them.
    private static func detail(_ keys: [String]) -> String {
        var text = ""
        for (number, key) in keys.enumerated() {
            let next = text.isEmpty ? key : "\(text) \(key)"
            guard next.count <= longestKeys else { return "\(text) and \(keys.count - number) more" }
            text = next
        }
        return text
    }

    private func end() {
        isUnderWay = false
        for waiting in waiting { waiting.finish() }
        waiting = []
    }

    /// Whether an adapter of this name is served.
    func serves(_ name: AdapterName) -> Bool { plan.adapters.contains { $0.declaration.name == name } }

    /// The program of an adapter of this name that is absent; nil: there is no such adapter.
    func absentProgram(_ name: AdapterName) -> AdapterProgram? {
        plan.adapters.first { $0.declaration.name == name }?.absent
    }

    /// Why adapters are absent.
    var absences: [AdapterName: String] {
        Dictionary(
            plan.adapters.compactMap { planned in planned.absent?.absence.map { (planned.declaration.name, $0) } },
            uniquingKeysWith: { $1 })
    }

    /// What belongs to a backup beside the store. `file`: the configuration's.
    func backupContents(configuration file: String) -> BackupContents { BackupContents(of: plan, configuration: file) }

    /// The settings that are used.
    var packages: PackageSettings { plan.settings.packages }

    /// Makes and starts everything, then puts it in its place. `commit` is the last that may fail.
    private func exchange(
        _ changes: ReloadPlan, _ next: HostPlan, _ running: Running, _ generation: HostGeneration,
        commit: () async throws -> Void
    ) async throws {
        let prepared = try await PreparedReload(changes, from: plan, to: next, running.host, after: generation)
        do {
            try Task.checkCancellation()
            try await commit()
        } catch {
            await prepared.discard(running.host)
            throw error
        }
        let retirement = prepared.use(running, insteadOf: plan)
        plan = next
        self.generation = prepared.generation
        await running.retirements.handOver(retirement)
    }

    private func schemaChange(_ changes: ReloadPlan, _ next: HostPlan) async throws -> SchemaChange? {
        guard let store = running?.host.store, !changes.membership.isEmpty else { return nil }
        return try await store.schemaChange(
            to: next.collections(of: changes.membership.fresh), retiring: plan.retired(by: next, changes.membership))
    }

    /// With what becomes of what is stored. What the store would refuse is an error.
    private func report(_ changes: ReloadPlan, _ next: HostPlan) async throws -> ConfigurationReport {
        var report = ConfigurationReport(changes, next)
        if let obstacle = changes.obstacle, report.obstacles.isEmpty { report.errors = [obstacle] }
        report.data = plan.collectionsRenamed(by: next)
        guard let change = try await schemaChange(changes, next) else { return report }
        report.data = change.items.map(\.description) + report.data
        report.errors += change.refusals.map { "The store cannot be migrated: \($0)." }
        return report
    }

    private func report(_ report: ConfigurationReport) -> ConfigurationReport {
        let keys = report.changes.map(\.key).joined(separator: ", ")
        if report.isApplied {
            logger.notice("configuration applied", metadata: ["keys": "\(keys)"])
        } else if !report.errors.isEmpty {
            logger.error(
                "configuration not applied", metadata: ["problem": "\(report.errors.joined(separator: " "))"])
        } else if report.changes.isEmpty {
            logger.info("nothing to reload: the configuration has not changed")
        } else {
            let obstacles = report.obstacles.map { "\($0.key): \($0.obstacle ?? "")" }
            logger.error(
                "configuration not applied", metadata: ["problem": "\(obstacles.joined(separator: "; "))"])
        }
        return report
    }

    /// On a thread of its own, and not waited for where the task is cancelled or ``longestRead`` is over: then the next
    /// one has another thread.
    private func load(
        _ packages: InstalledReleases? = nil, toleratesUnknown: Bool = false
    ) async throws -> HostPlan {
        let (stream, result) = AsyncStream<Result<HostPlan, any Error>?>.makeStream()
        let (read, plugins, packages) = (read, plan.plugins, packages ?? plan.packages)
        queue.async { result.yield(Result { try read(plugins, packages, toleratesUnknown) }) }
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
        let text = (error as? PorticoError)?.forOperators ?? FileFailure.sentence(error) ?? "\(error)"
        return text.split(separator: "\n").map(String.init)
    }
}

extension PorticoError {
    /// What a caller would not be shown is shown to those who configure.
    var forOperators: String { code == .serverInternal ? logDetail ?? message : message }
}

extension ConfigurationReport {
    init(_ plan: ReloadPlan, _ next: HostPlan) {
        self.init(
            changes: plan.changes.map { Change(key: $0.key, old: $0.old, new: $0.new, obstacle: $0.obstacle) },
            warnings: next.warnings)
    }
}

extension HostPlan {
    /// Those of some adapters.
    fileprivate func collections(of names: Set<AdapterName>) -> [CollectionDeclaration] {
        collections.filter { names.contains($0.id.adapter) }
    }

    /// Those that get another name in messages of sync, because an entity of another adapter has theirs, or has it no longer.
    fileprivate func collectionsRenamed(by next: HostPlan) -> [String] {
        let now = catalogue
        return next.catalogue.collections.compactMap { collection in
            guard let name = now[collection.id]?.name, name != collection.name else { return nil }
            return "\(collection.id): devices sync it as \(collection.name), no longer as \(name)"
        }
    }

    private var catalogue: SyncCatalogue {
        SyncCatalogue(adapters.map(\.declaration))
    }

    /// Collections that are not declared any more.
    fileprivate func retired(by next: HostPlan, _ membership: AdapterMembership) -> [CollectionID] {
        let declared = Set(next.collections.map(\.id))
        return collections(of: membership.ended).map(\.id).filter { !declared.contains($0) }
    }
}

/// What another configuration needs, made and started, and not used yet.
private struct PreparedReload {
    let generation: HostGeneration
    private let plan: HostPlan
    private let upstreams: HostUpstreams.Replacement
    /// Nil: sign-ins go on as they are.
    private let providers: PreparedProviders?
    /// Nil: notes are sent as before.
    private let push: PushServices?
    /// Nil: no spans are recorded.
    private let traces: OTLPExporter.Destination?
    private let adapters: AdapterChange
    private let starts: [AdapterName: AdapterUpstreams]
    /// Those that the store had before it was extended; nil: it was not.
    private let collections: [CollectionDeclaration]?

    init(
        _ changes: ReloadPlan, from before: HostPlan, to plan: HostPlan, _ host: Host, after old: HostGeneration
    ) async throws {
        self.plan = plan
        let upstreams = try await host.upstreams.prepare(changes.upstreams, plan.settings.upstreams)
        self.upstreams = upstreams
        let collections = changes.membership.isEmpty ? nil : before.collections
        self.collections = collections
        starts = plan.upstreams(of: upstreams.all)
        do {
            // The store has the fields of both until one side is over.
            if collections != nil { try await host.store.extend(to: plan.collections) }
            let parts = try await host.assembly.parts(
                plan, after: old, changed: changes.adapters, keepsSync: changes.keepsSync)
            providers =
                changes.providers.isEmpty
                ? nil : try Self.providers(changes, plan, upstreams: upstreams, identity: host.identity)
            push = changes.renewsPush ? try PushServices(plan.settings.push, upstreams.all, logger: host.logger) : nil
            traces = try plan.settings.traces?.destination(in: upstreams.all)
            generation = try host.assembly.generation(plan, parts, after: old)
            let start = host.starts.value.with(starts, parts.feeds)
            adapters = AdapterChange(from: old.adapters, to: generation.adapters) { try await start.run($0) }
            try await host.supervisor.prepare(adapters)
        } catch {
            await Self.restore(collections, upstreams, host)
            throw error
        }
    }

    private static func providers(
        _ changes: ReloadPlan, _ plan: HostPlan, upstreams: HostUpstreams.Replacement, identity: Identity
    ) throws -> PreparedProviders {
        let setups = try plan.settings.providers.map { provider in
            guard let transport = upstreams.transports[provider.upstream] else {
                throw CommandError("There is no upstream \(provider.upstream).")
            }
            return provider.setup(transport)
        }
        return identity.prepareProviders(setups, changed: changes.providers)
    }

    func discard(_ host: Host) async {
        await host.supervisor.discard(adapters)
        await Self.restore(collections, upstreams, host)
    }

    /// Whether the task is cancelled or not: the tables fit the declarations that are used.
    private static func restore(
        _ collections: [CollectionDeclaration]?, _ upstreams: HostUpstreams.Replacement, _ host: Host
    ) async {
        if let collections {
            await Task {
                do { try await host.store.install(collections) } catch {
                    host.logger.error(
                        "the store keeps fields of a change that was not made", metadata: ["detail": "\(error)"])
                }
            }.value
        }
        await host.upstreams.discard(upstreams)
    }

    /// Puts everything in its place. Returns what is to be stopped.
    func use(_ running: ConfigurationReload.Running, insteadOf old: HostPlan) -> Retirement {
        let host = running.host
        host.starts.replace(with: host.starts.value.with(starts, generation.feeds))
        let oldUpstreams = host.upstreams.use(upstreams)
        if let providers { host.identity.use(providers) }
        host.identity.use(plan.settings.identity)
        if let push { host.push.replace(with: push) }
        host.traces.use(plan.settings.traces, traces)
        host.assembly.attachments.use(AttachmentLimits(plan.settings.gateway.sync))
        generation.feeds.use(plan.settings.gateway.feeds)
        let exchanged = host.supervisor.exchange(adapters, limits: plan.settings.adapters)
        host.readiness.use(generation.adapters)
        host.current.replace(with: generation)
        running.servers.logs.output.use(
            LogFormat(plan.settings.logFormat, for: .standardError), remembered: plan.settings.logMemory)
        running.levels.setGeneral(plan.settings.logLevel)
        // What an operator has set of others while it runs stays.
        let (before, now) = (old.settings.logLevels, plan.settings.logLevels)
        for module in Set(before.keys).union(now.keys) where before[module] != now[module] {
            _ = running.levels.set(now[module], of: module)
        }
        return Retirement(
            host: host, requests: running.servers.use(generation, plan.settings), adapters: exchanged,
            feeds: generation.feeds, collections: plan.collections, upstreams: oldUpstreams)
    }
}
