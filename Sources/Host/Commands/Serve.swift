import AdapterKit
import ArgumentParser
import Foundation
import Gateway
import HTTPServer
import Logging
import RecordStorage
import ServiceLifecycle
import Synchronization
import Telemetry

/// `portico serve`: the gateway in the foreground, until SIGTERM, SIGINT or SIGQUIT.
struct Serve<Program: HostProgram>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "serve", abstract: "Serves the gateway in the foreground.")
    }

    @OptionGroup var options: ConfigurationOptions

    @Flag(
        help: """
            Takes the store as it is found, though another one was here, or a file of it is missing. It gets a new \
            epoch: devices start over.
            """)
    var acceptStore = false

    func run() async throws {
        let signals = ProcessSignals()
        DescriptorLimit.raise()
        let plan = try await options.plan(Program.adapters, toleratesUnknown: true)
        let output = LogOutput(
            .standardError, form: LogFormat(plan.settings.logFormat, for: .standardError),
            remembered: plan.settings.logMemory)
        defer { output.flush() }
        let levels = LogLevels(plan.settings.logLevel, own: plan.settings.logLevels)
        let logs = HostLogs(output: output, levelsOfModules: levels)
        LoggingSystem.bootstrap { HostLogHandler($0, levels: levels, output: output) }
        let logger = Logger(label: "portico")
        logger.info(
            "starting",
            metadata: [
                "version": "\(PorticoRelease.version)", "configuration": .string(options.file),
                "adapters": .string(plan.adapters.map(\.declaration.name.text).joined(separator: ", ")),
                "plugins": .string(plan.plugins.paths.joined(separator: ", ")),
                "data": .string(plan.settings.dataDirectory.path),
            ])
        if !plan.unnamed.isEmpty {
            logger.notice(
                "adapters that the configuration does not name are not served",
                metadata: ["adapters": .string(plan.unnamed.map(\.text).joined(separator: ", "))])
        }
        for warning in plan.warnings {
            logger.warning("configuration", metadata: ["warning": "\(warning)"])
        }
        // Before anything is made that would be of no use.
        try Listener.checkAddresses(plan.settings)
        GatewayServer.limitEventLoops(to: Processors.allowed)
        let options = options
        let reload = ConfigurationReload(plan, logger: logger) {
            try options.load(Program.adapters, plugins: $0, packages: $1, toleratesUnknown: $2)
        }
        let probations = WorkQueue<Probation>()
        // One that is attempted again while it waits to be asked needs no second place.
        let absent = WorkQueue<AdapterName>(.bufferingNewest(64))
        for planned in plan.adapters { planned.absent?.report(to: absent) }
        let packages = PackageDeployment(
            data: plan.settings.dataDirectory.path, reload: reload, probations: probations, logger: logger)
        let host = try await Host(
            plan, acceptsStore: acceptStore, configuration: reload, packages: packages, logs: logs, logger: logger
        ) { await reload.backupContents(configuration: options.file) }
        let listener = try Listener(plan.settings)
        let announcement = Announcement(readiness: host.readiness)
        let servers = servers(host, plan.settings, listener, announcement, logs, logger)
        let retirements = WorkQueue<Retirement>()
        await reload.begin(.init(host: host, servers: servers, retirements: retirements, levels: levels))
        let configuration = services(
            host, plan.settings, servers,
            Reloading(
                configuration: reload, retirements: retirements, packages: packages, probations: probations,
                absent: absent),
            announcement,
            listener, signals, logger)
        signals.beginServing()
        try await ServiceGroup(configuration: configuration).run()
        let isStoreLost = await host.watch.store.probe() == .misplaced
        await host.stop()
        if isStoreLost {
            logger.error(
                "stopped with a file of the store not in its place: what was written into a lost file is gone")
        }
        logger.info(signals.isRestartRequested ? "restarting" : "stopped")
        output.flush()
        if isStoreLost { throw ExitCode.failure }
        if signals.isRestartRequested { listener.handOver() }
    }

    private func servers(
        _ host: Host, _ settings: HostSettings, _ listener: Listener, _ announcement: Announcement,
        _ logs: HostLogs, _ logger: Logger
    ) -> RunningServers {
        let socket = settings.adminSocket
        let administration = GatewayServer(
            gateway: host.first.administration, settings: settings.administrationSettings(logs)
        ) { _ in
            try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: socket)
        }
        let frontSettings = settings.frontSettings(.socket(listener.socket), logs)
        let scheme = frontSettings.certificate == nil ? "http" : "https"
        let front = GatewayServer(gateway: host.first.gateway, settings: frontSettings) { port in
            announcement.listening("listening on \(scheme)://\(settings.host):\(port ?? settings.port)")
        }
        let metrics = settings.gateway.metrics
        metrics.collect(as: "listener") { front.collect(into: &$0) }
        let administrationPort = host.assembly.console.port
        let administrationListener = settings.adminListener.map { listener in
            let scheme = listener.certificate == nil ? "http" : "https"
            return GatewayServer(
                gateway: host.first.administrationListener,
                settings: settings.administrationSettings(listener, port: administrationPort, logs)
            ) { port in
                administrationPort.set(port ?? listener.port)
                logger.info(
                    "admin listener",
                    metadata: ["address": "\(scheme)://\(listener.host):\(port ?? listener.port)"])
            }
        }
        return RunningServers(
            front: front, administration: administration, administrationListener: administrationListener,
            certificate: settings.mount.certificate.map { Current($0) },
            administrationCertificate: settings.adminListener?.certificate.map { Current($0) },
            sync: CurrentSync(host.first.sync), logs: logs, administrationPort: administrationPort)
    }

    private func services(
        _ host: Host, _ settings: HostSettings, _ servers: RunningServers, _ reloading: Reloading,
        _ announcement: Announcement, _ listener: Listener, _ signals: ProcessSignals, _ logger: Logger
    ) -> ServiceGroupConfiguration {
        let certificate = servers.certificate.map { CertificateService(current: $0, logger: logger) }
        let adminCertificate = servers.administrationCertificate.map {
            CertificateService(current: $0, logger: logger)
        }
        let signalled = ServiceGroupConfiguration.ServiceConfiguration(
            service: SignalService(
                signals: signals, certificate: certificate, configuration: reloading.configuration, watch: host.watch,
                logger: logger),
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: "signals")
        var services = [
            signalled,
            configuration("deadlines", DeadlineService(gateways: [host.first.gateway, host.first.administration])),
            configuration("retirements", WorkQueueService(queue: reloading.retirements) { await $0.run() }),
            configuration(
                "probations",
                WorkQueueService(queue: reloading.probations) {
                    [packages = reloading.packages, current = host.current] in
                    await packages.watch($0, in: current)
                }),
            configuration(
                "absent programs",
                WorkQueueService(queue: reloading.absent) { [packages = reloading.packages] in
                    await packages.attemptReturn(of: $0)
                }),
            configuration(
                "store watch", StoreWatchService(watch: host.watch, interval: settings.storeProbe, logger: logger)),
            configuration("adapters", AdapterService(host: host, announcement: announcement)),
            configuration("figures", FigureService(figures: host.assembly.figures)),
            configuration("maintenance", MaintenanceService(host: host, logger: logger)),
            configuration("compaction", CompactionService(current: host.current, logger: logger)),
            configuration("administration", servers.administration),
        ]
        if let backups = host.backups { services.append(configuration("backups", BackupLoopService(backups: backups))) }
        // Operators see the stop of the public listener.
        if let administration = servers.administrationListener {
            services.append(configuration("admin listener", administration))
        }
        services += [
            configuration(
                "public listener",
                PublicListenerService(server: servers.front, announcement: listener.isInherited ? announcement : nil)),
            configuration("event loops", EventLoopLagService(servers.front, in: settings.gateway.metrics)),
            configuration("live streams", LiveService(sync: servers.sync, liveFeeds: host.supervisor.liveFeedTasks)),
            configuration("traces", TraceService(exporter: host.traces.exporter)),
            // The last to start is the first to stop.
            configuration("listener", listener.releaseOnShutdown(unless: signals)),
        ]
        if let certificate { services.append(configuration("certificate", certificate)) }
        if let adminCertificate { services.append(configuration("admin certificate", adminCertificate)) }
        var configuration = ServiceGroupConfiguration(services: services, logger: logger)
        configuration.maximumGracefulShutdownDuration = settings.stopDeadline
        return configuration
    }

    /// Without a name the group describes a service by reflection through everything that runs, which took most of the
    /// time of a start. One that fails stops the others as SIGTERM does.
    private func configuration(_ name: String, _ service: any Service) -> ServiceGroupConfiguration.ServiceConfiguration
    {
        ServiceGroupConfiguration.ServiceConfiguration(
            service: service, failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: name)
    }
}

/// What changes the configuration, and what ends what was replaced.
private struct Reloading {
    let configuration: ConfigurationReload
    let retirements: WorkQueue<Retirement>
    let packages: PackageDeployment
    let probations: WorkQueue<Probation>
    let absent: WorkQueue<AdapterName>
}
