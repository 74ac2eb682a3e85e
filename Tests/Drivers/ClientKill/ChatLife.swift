import Client
import Foundation

/// A phone that chats: messages written without a network and ended by SIGKILL, then sessions that send and are killed.
///
///     --chat ROOM --session 0    writes twenty messages without a network and is killed
///     --chat ROOM --session N    writes five more, and syncs until it is killed or is done
///     --chat ROOM --settle yes   syncs until nothing waits
///
/// Prints nothing: what there is at the end, the server tells.
struct ChatLife {
    private let options: Options
    private let portico: Portico
    private let chat: ChatClient

    init(_ options: Options) async throws {
        guard let server = ServerAddress(options.server) else { throw Failure("no address") }
        self.options = options
        let folder = URL(fileURLWithPath: options.folder, isDirectory: true).appendingPathComponent("chat")
        var random = SeededRandom(seed: options.seed &+ UInt64(options.session))
        let transport: any Transport =
            if options.settles {
                URLSessionTransport()
            } else if options.session == 0 {
                SignInAlone()
            } else {
                KillingTransport(using: &random)
            }
        var limits = SyncLimits()
        limits.batch = 3
        limits.pauses = .milliseconds(10)...(.milliseconds(200))
        let settings = PorticoSettings(
            transport: transport, replica: ReplicaSettings(collections: ["rooms", "messages"], limits: limits),
            startsByItself: false)
        portico = try await Portico.open(server, in: folder, settings: settings)
        if try await portico.session.isSignedIn() == false {
            try await portico.signIn(name: "alice", password: "portico-demo")
        }
        chat = try await portico.chat()
    }

    func run() async throws {
        if options.settles { return try await settle() }
        for number in 0..<(options.session == 0 ? 20 : 5) {
            try await chat.post("\(options.session).\(number)", in: options.chat)
        }
        if options.session == 0 { kill(getpid(), SIGKILL) }
        try await portico.replica().sync(within: .seconds(30))
    }

    private func settle() async throws {
        let replica = try await portico.replica()
        var status = await replica.sync(within: .seconds(60))
        for _ in 0..<20 where status.waiting > 0 { status = await replica.sync(within: .seconds(30)) }
        guard status.waiting == 0, chat.problems().isEmpty else { throw Failure("stuck: \(status)") }
    }
}

/// A network that is gone once somebody has signed in.
struct SignInAlone: Transport {
    private let transport = URLSessionTransport()

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard request.url.contains("/auth/") else { throw TransportError.unreachable("no network") }
        return try await transport.send(request)
    }
}
