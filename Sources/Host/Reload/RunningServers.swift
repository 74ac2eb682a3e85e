import Gateway
import HTTPServer
import Synchronization

/// The listeners, which outlive configurations.
struct RunningServers: Sendable {
    let front: GatewayServer
    let administration: GatewayServer
    /// Nil: there is the admin socket alone.
    let administrationListener: GatewayServer?
    let certificate: CurrentCertificate?
    /// That of the admin listener.
    let administrationCertificate: CurrentCertificate?
    let sync: CurrentSync
    let logs: HostLogs
    /// Of the admin listener.
    let administrationPort: ListeningPort

    /// Requests and connections from now on belong to this generation. Returns the requests that do not yet.
    func use(_ generation: HostGeneration, _ settings: HostSettings) -> [RequestsUnderWay] {
        let frontSettings = settings.frontSettings(.tcp(host: settings.host, port: settings.port), logs)
        if let renewed = settings.mount.certificate { certificate?.replace(with: renewed) }
        var requests = [
            front.replace(generation.gateway, frontSettings),
            administration.replace(generation.administration, settings.administrationSettings(logs)),
        ]
        if let administrationListener, let listener = settings.adminListener {
            if let renewed = listener.certificate { administrationCertificate?.replace(with: renewed) }
            requests.append(
                administrationListener.replace(
                    generation.administrationListener,
                    settings.administrationSettings(listener, port: administrationPort, logs)))
        }
        sync.replace(with: generation.sync)
        return requests
    }
}

/// The sync services that live streams are opened with; another configuration may bring others.
final class CurrentSync: Sendable {
    private let sync: Mutex<SyncServices>
    let changes: AsyncStream<SyncServices>
    private let continuation: AsyncStream<SyncServices>.Continuation

    init(_ sync: SyncServices) {
        self.sync = Mutex(sync)
        (changes, continuation) = AsyncStream.makeStream()
    }

    var value: SyncServices { sync.withLock { $0 } }

    /// Streams of the services before end with a `reconnect` event.
    func replace(with other: SyncServices) {
        let old = sync.withLock { sync in
            defer { sync = other }
            return sync
        }
        guard !old.isSame(as: other) else { return }
        continuation.yield(other)
        old.stop()
    }
}

/// The certificate of a listener; another configuration may name other files.
final class CurrentCertificate: Sendable {
    private let certificate: Mutex<ServerCertificate>

    init(_ certificate: ServerCertificate) {
        self.certificate = Mutex(certificate)
    }

    var value: ServerCertificate { certificate.withLock { $0 } }

    func replace(with other: ServerCertificate) { certificate.withLock { $0 = other } }
}
