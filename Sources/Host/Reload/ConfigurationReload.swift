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
        let retirements: WorkQueue<Retirement>
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
        do { return try await propose().report } catch { return ConfigurationReport(errors: Self.sentences(error)) }
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
        var report: ConfigurationReport
        do {
            let proposal = try await propose()
            report = proposal.report
            if report.errors.isEmpty, proposal.changes.isPossible, !report.changes.isEmpty {
                do {
                    // What is not in the audit log is not done.
                    try await exchange(proposal, running, generation) { [changes = report.changes] in
                        try await running.host.identity.record(
                            AuditEvent(
                                .configurationApplied, actor: actor.id, address: address,
                                detail: Self.detail(changes.map(\.key))))
                    }
                    report.isApplied = true
                } catch {
                    report.errors = Self.sentences(error)
                }
            }
        } catch {
            report = ConfigurationReport(errors: Self.sentences(error))
        }
        log(report)
        return report
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
            let proposal = try await propose(
                deployment.packages(plan.packages), renewing: [name], toleratesUnknown: true)
            try proposal.permit(deployment)
            guard !request.isDryRun else { return proposal.data }
            try await exchange(proposal, running, generation) {
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
            for key in proposal.unread(of: name) {
                logger.warning("configuration", metadata: ["warning": "\(key.warning)"])
            }
            logger.notice("adapter deployed", metadata: ["adapter": "\(name)", "change": "\(deployment.summary)"])
            return proposal.data
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
        _ proposal: Proposal, _ running: Running, _ generation: HostGeneration, commit: () async throws -> Void
    ) async throws {
        let next = proposal.next
        let prepared = try await PreparedReload(
            proposal.changes, from: plan, to: next, running.host, after: generation)
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
        if running.retirements.add(retirement) { await retirement.adapters.waitUntilSettled() }
    }

    /// What the sources say now, beside what is used.
    private func propose(
        _ packages: InstalledReleases? = nil, renewing names: Set<AdapterName> = [], toleratesUnknown: Bool = false
    ) async throws -> Proposal {
        let next = try await load(packages, toleratesUnknown: toleratesUnknown)
        let changes = ReloadPlan(from: plan, to: next, renewing: names)
        var schema: SchemaChange?
        if let store = running?.host.store, !changes.membership.isEmpty {
            schema = try await store.schemaChange(
                to: next.collections(of: changes.membership.fresh),
                retiring: plan.retiredCollections(by: next, changes.membership)
            )
        }
        return Proposal(next: next, changes: changes, schema: schema, renamed: plan.collectionsRenamed(by: next))
    }

    private func log(_ report: ConfigurationReport) {
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
            throw HostCommandError("The configuration's files could not be read in time.")
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

/// A change of one adapter that is installed, or is to be.
struct Deployment: Sendable {
    let name: AdapterName
    /// For the audit log: a verb and a version.
    let summary: String
    /// What is installed afterwards.
    let packages: @Sendable (InstalledReleases) -> InstalledReleases
    /// It goes back to what was before: the operator has to accept what is hidden by it.
    var hidesNothing = false
    /// Whether other adapters' collections may get other names by it, unless the operator accepts that.
    var mayRename = false
    /// Whether keys of the adapter that nothing takes then are left aside, with a warning. Otherwise they refuse it.
    var ignoresUnread = false
    let request: DeploymentRequest
    /// Makes it last beyond a restart. Called when everything is started and nothing is exchanged.
    let commit: @Sendable () async throws -> Void
}

/// Another plan, and what the way to it consists of.
private struct Proposal: Sendable {
    let next: HostPlan
    let changes: ReloadPlan
    /// What becomes of the tables; nil: nothing.
    let schema: SchemaChange?
    /// Collections that devices would sync by another name, a sentence each.
    let renamed: [String]

    /// What becomes of what is stored, a sentence each.
    var data: [String] { (schema?.items.map(\.description) ?? []) + renamed }

    /// What the store would refuse is an error.
    var report: ConfigurationReport {
        let changed = changes.changes.map {
            ConfigurationReport.Change(key: $0.key, old: $0.old, new: $0.new, obstacle: $0.obstacle)
        }
        var report = ConfigurationReport(changes: changed, warnings: next.warnings, data: data)
        if let obstacle = changes.obstacle, report.obstacles.isEmpty { report.errors = [obstacle] }
        report.errors += schema?.refusals.map { "The store cannot be migrated: \($0)." } ?? []
        return report
    }

    /// Keys of an adapter that nothing takes.
    func unread(of name: AdapterName) -> [ResolvedConfiguration.UnreadKey] {
        next.resolved.unread.filter { $0.path.starts(with: ["adapters", name.text]) }
    }

    /// Throws why this is not what an operator wants of one adapter.
    func permit(_ deployment: Deployment) throws(PorticoError) {
        let (name, unread) = (deployment.name, unread(of: deployment.name))
        if !deployment.ignoresUnread, !unread.isEmpty {
            throw PorticoError(
                .recordConflict,
                unread.map {
                    "There is no key \($0.path.joined(separator: ".")) in the version that is to serve (\($0.location))."
                }
                .joined(separator: " ") + " Take it out of the configuration, and try again.")
        }
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
        if let refusal = schema?.refusals.first {
            throw PorticoError(.recordConflict, "The store cannot be migrated: \(refusal).")
        }
        guard !deployment.request.acceptsLoss else { return }
        if deployment.hidesNothing, let loss = schema?.losses, !loss.isEmpty {
            throw PorticoError(
                .preconditionFailed,
                "The change would hide stored values (\(loss.map(\.description).joined(separator: "; "))). "
                    + "To make it all the same, use --accept-loss.")
        }
        if !deployment.mayRename, !renamed.isEmpty {
            throw PorticoError(
                .preconditionFailed,
                "The change would rename collections that devices sync (\(renamed.joined(separator: "; "))), and changes that "
                    + "devices have queued for them would be refused. To make it all the same, use --accept-loss.")
        }
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
    fileprivate func retiredCollections(by next: HostPlan, _ membership: AdapterMembership) -> [CollectionID] {
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
            generation = try await host.assembly.generation(
                plan, after: old, changed: changes.adapters, keepsSync: changes.keepsSync)
            providers =
                changes.providers.isEmpty
                ? nil : try Self.providers(changes, plan, upstreams: upstreams, identity: host.identity)
            push = changes.renewsPush ? try PushServices(plan.settings.push, upstreams.all, logger: host.logger) : nil
            traces = try plan.settings.traces?.destination(in: upstreams.all)
            let start = host.starts.value.with(starts, generation.liveFeeds)
            adapters = AdapterChange(from: old.adapters, to: generation.adapters, liveFeeds: generation.liveFeeds.tasks)
            {
                try await start.run($0)
            } settle: { [store = host.store, logger = host.logger, declared = plan.collections] in
                do { try await store.install(declared) } catch {
                    logger.error(
                        "fields that are no longer declared could not be hidden", metadata: ["detail": "\(error)"])
                }
            }
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
                throw HostCommandError("There is no upstream \(provider.upstream).")
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
        host.starts.replace(with: host.starts.value.with(starts, generation.liveFeeds))
        let oldUpstreams = host.upstreams.use(upstreams)
        if let providers { host.identity.use(providers) }
        host.identity.use(plan.settings.identity)
        if let push { host.push.replace(with: push) }
        host.traces.use(plan.settings.traces, traces)
        host.assembly.attachments.use(AttachmentLimits(plan.settings.gateway.sync))
        generation.liveFeeds.use(plan.settings.gateway.liveFeeds)
        host.supervisor.exchange(adapters, limits: plan.settings.adapters)
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
            supervisor: host.supervisor, adapters: adapters, requests: running.servers.use(generation, plan.settings),
            upstreams: oldUpstreams)
    }
}

/// What another configuration has replaced, until it is stopped.
struct Retirement: Sendable {
    let supervisor: AdapterSupervisor
    let adapters: AdapterChange
    let requests: [RequestsUnderWay]
    let upstreams: [HTTPUpstream]

    /// Finishes the change of adapters, and stops everything after its last request, or at once where the task is cancelled.
    func run() async {
        let deadline = ContinuousClock.now + AdapterSupervisor.longestRequests
        await supervisor.finish(adapters) { deadline in
            for requests in requests { await requests.waitUntilEnded(by: deadline) }
        }
        // Refreshes of mirrors call them too.
        for upstream in upstreams { await upstream.stop(afterCallsUntil: deadline) }
    }
}
