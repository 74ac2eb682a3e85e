import AdapterKit
import ArgumentParser
import Foundation
import Gateway
import HTTPServer
import Logging
import SQLiteStore
import ServiceLifecycle
import Synchronization
import Telemetry

/// `portico serve`: the gateway in the foreground, until SIGTERM, SIGINT or SIGQUIT.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves the gateway in the foreground.")

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
        let plan = try options.load()
        let output = LogOutput(.standardError, form: LogFormat(plan.settings.logFormat, for: .standardError))
        defer { output.flush() }
        let level = Logger.Level(plan.settings.logLevel)
        LoggingSystem.bootstrap { _ in HostLogHandler(level: level, output: output) }
        let logger = Logger(label: "portico")
        logger.info(
            "starting",
            metadata: [
                "version": "\(PorticoRelease.version)", "configuration": .string(options.file),
                "adapters": .string(plan.adapters.map(\.declaration.name.text).joined(separator: ", ")),
                "plugins": .string(plan.plugins.joined(separator: ", ")),
                "data": .string(plan.settings.dataDirectory.path),
            ])
        for warning in plan.warnings {
            logger.warning("configuration", metadata: ["warning": "\(warning)"])
        }
        GatewayServer.limitEventLoops(to: Processors.allowed)
        let host = try await Host(plan, acceptsStore: acceptStore, logger: logger)
        let listener = try Listener(plan.settings)
        let configuration = services(host, plan.settings, listener, signals, output, logger)
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

    private func services(
        _ host: Host, _ settings: HostSettings, _ listener: Listener, _ signals: ProcessSignals, _ output: LogOutput,
        _ logger: Logger
    ) -> ServiceGroupConfiguration {
        let socket = settings.adminSocket
        let administration = GatewayServer(
            gateway: host.administration, settings: settings.administrationSettings(output)
        ) { _ in
            try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: socket)
        }
        var frontSettings = settings.serverSettings(.socket(listener.socket), output)
        frontSettings.certificate = settings.mount.certificate
        let scheme = frontSettings.certificate == nil ? "http" : "https"
        let announcement = Announcement(readiness: host.readiness)
        let front = GatewayServer(gateway: host.gateway, settings: frontSettings) { port in
            announcement.listening("listening on \(scheme)://\(settings.host):\(port ?? settings.port)")
        }
        let metrics = settings.gateway.metrics
        metrics.collect(as: "listener") { front.collect(into: &$0) }
        let certificate = settings.mount.certificate.map { CertificateService(certificate: $0, logger: logger) }
        let signalled = ServiceGroupConfiguration.ServiceConfiguration(
            service: SignalService(signals: signals, certificate: certificate, watch: host.watch, logger: logger),
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: "signals")
        var configuration = ServiceGroupConfiguration(
            services: [
                signalled,
                named("deadlines", DeadlineService(gateways: [host.gateway, host.administration])),
                named(
                    "store watch",
                    StoreWatchService(watch: host.watch, interval: settings.storeProbe, logger: logger)),
                named("adapters", AdapterService(host: host, announcement: announcement)),
                named("maintenance", MaintenanceService(host: host, logger: logger)),
                named("compaction", CompactionService(maintenance: host.maintenance, logger: logger)),
                named("administration", administration), named("public listener", front),
                named("event loops", EventLoopLagService(front, in: metrics)),
                named("live streams", LiveService(sync: host.sync, feeds: host.feeds)),
                // The last to start is the first to stop.
                named("listener", listener.releaseOnShutdown(unless: signals)),
            ] + (certificate.map { [named("certificate", $0)] } ?? []), logger: logger)
        configuration.maximumGracefulShutdownDuration = settings.stopDeadline
        return configuration
    }

    /// Without a name the group describes a service by reflection through everything that runs, which took most of the
    /// time of a start. One that fails stops the others as SIGTERM does.
    private func named(_ name: String, _ service: any Service) -> ServiceGroupConfiguration.ServiceConfiguration {
        ServiceGroupConfiguration.ServiceConfiguration(
            service: service, failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: name)
    }
}
