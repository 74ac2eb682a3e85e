import HTTPServer
import NIOCore
import ServiceLifecycle

/// A listener in front of a ``Gateway``.
public struct GatewayServer: Service {
    private let listener: HTTPListener
    /// Called with the port once connections are accepted; nil for a socket.
    private let onListening: @Sendable (Int?) async -> Void

    public init(
        gateway: Gateway, settings: ServerSettings, onListening: @escaping @Sendable (Int?) async -> Void
    ) {
        listener = HTTPListener(
            settings.configuration(gateway.services.limits),
            responder: GatewayResponder(gateway: gateway, settings: settings))
        self.onListening = onListening
    }

    public func run() async throws { try await listener.run(onListening: onListening) }

    /// One event loop for each processor that this process may use: more would only take turns. To be called first of
    /// all; NIO counts the machine's processors, whichever are meant for others.
    public static func limitEventLoops(to processors: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, processors)
    }
}
