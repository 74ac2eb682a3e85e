import Foundation
import Gateway
import ServiceLifecycle

/// The socket at which the gateway listens: its own, or one that it was started with.
struct Listener {
    let socket: ListeningSocket

    init(_ settings: HostSettings) throws {
        let inherited = ListeningSocket.inherited(environment: ProcessInfo.processInfo.environment)
        socket = try inherited ?? ListeningSocket.open(host: settings.host, port: settings.port)
    }

    /// As soon as a stop begins, unless a successor wants it.
    func releaseOnShutdown(unless signals: ProcessSignals) -> some Service {
        ListenerRelease(socket: socket, signals: signals)
    }

    /// What begins anew.
    static var program: String {
        CommandLine.arguments[0].contains("/") ? CommandLine.arguments[0] : "/proc/self/exe"
    }

    /// What was confirmed for this start is not confirmed for the next one.
    static var restartArguments: [String] { CommandLine.arguments.filter { $0 != "--accept-store" } }

    /// Becomes the program anew, as it is installed now, on the same socket.
    func handOver() {
        socket.handOver(
            program: Self.program, arguments: Self.restartArguments,
            environment: ProcessInfo.processInfo.environment)
    }
}

private struct ListenerRelease: Service {
    let socket: ListeningSocket
    let signals: ProcessSignals

    func run() async throws {
        try? await gracefulShutdown()
        if !signals.isRestartRequested { socket.release() }
    }
}
