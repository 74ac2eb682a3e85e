import ArgumentParser
import Foundation
import Gateway
import Logging
import ServiceLifecycle
import UnixSignals

/// `portico serve`: the gateway in the foreground, until SIGTERM or SIGINT.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serves the gateway in the foreground.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let plan = try options.load()
        let output = LogOutput(.standardError)
        let level = Logger.Level(plan.settings.logLevel)
        LoggingSystem.bootstrap { _ in JSONLogHandler(level: level, output: output) }
        let logger = Logger(label: "portico")
        let host = try await Host(plan, logger: logger)
        let group = ServiceGroup(configuration: services(host, plan.settings, logger))
        try await group.run()
        await host.stop()
    }

    private func services(_ host: Host, _ settings: HostSettings, _ logger: Logger) -> ServiceGroupConfiguration {
        let socket = settings.adminSocket
        let administration = GatewayServer(
            gateway: host.administration, settings: settings.serverSettings(.unixSocket(path: socket)), logger: logger
        ) { _ in
            try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: socket)
        }
        var frontSettings = settings.serverSettings(.tcp(host: settings.host, port: settings.port))
        frontSettings.certificate = settings.door.certificate
        let scheme = frontSettings.certificate == nil ? "http" : "https"
        let front = GatewayServer(gateway: host.gateway, settings: frontSettings, logger: logger) { port in
            host.readiness.isReady = true
            Announcement.print("listening on \(scheme)://\(settings.host):\(port ?? settings.port)")
        }
        let certificates = settings.door.certificate.map { [CertificateService(certificate: $0, logger: logger)] } ?? []
        var configuration = ServiceGroupConfiguration(
            services: [
                DeadlineService(gateways: [host.gateway, host.administration]),
                MaintenanceService(host: host, logger: logger),
                CompactionService(upkeep: host.upkeep, logger: logger),
                administration, front, LiveService(sync: host.sync),
            ] + certificates, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = settings.stopDeadline
        return configuration
    }
}

/// Lines on standard output that scripts wait for.
enum Announcement {
    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
