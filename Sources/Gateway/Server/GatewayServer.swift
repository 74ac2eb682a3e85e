import HTTPServer
import NIOCore
import ServiceLifecycle
import Telemetry

/// A listener in front of a ``Gateway``.
public struct GatewayServer: Service {
    private let listener: HTTPListener
    private let responder: GatewayResponder
    /// Called with the port once connections are accepted; nil for a socket.
    private let onListening: @Sendable (Int?) async -> Void

    public init(
        gateway: Gateway, settings: ServerSettings, onListening: @escaping @Sendable (Int?) async -> Void
    ) {
        responder = GatewayResponder(gateway: gateway, settings: settings)
        listener = HTTPListener(settings.configuration(gateway.services.limits), responder: responder)
        self.onListening = onListening
    }

    /// Requests from now on are answered by this gateway, also on connections that are open; connections from now on are
    /// served by these settings, but for their address. Returns the requests that the gateway before still answers.
    public func replace(_ gateway: Gateway, _ settings: ServerSettings) -> RequestsUnderWay {
        listener.reconfigure(settings.configuration(gateway.services.limits))
        return RequestsUnderWay(responder.replace(gateway, settings))
    }

    public func run() async throws { try await listener.run(onListening: onListening) }

    var eventLoops: [any EventLoop] { listener.eventLoops }

    /// Adds how many connections and requests there are.
    public func collect(into samples: inout MetricSamples) {
        samples.set(MetricCatalogue.connections, listener.openConnections)
        samples.set(MetricCatalogue.requestsInFlight, responder.inFlight)
    }

    /// One event loop for each processor that this process may use: more would only take turns. To be called first of
    /// all; NIO counts the machine's processors, whichever are meant for others.
    public static func limitEventLoops(to processors: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, processors)
    }
}
