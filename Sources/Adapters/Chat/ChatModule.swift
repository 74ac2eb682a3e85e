import AdapterKit
import Synchronization

/// Rooms and messages: the Twaddle contract on one URL, and the same functions as resources (docs/adapters/chat.md).
public enum ChatModule: AdapterModule {
    public static let name: AdapterName = "chat"

    public static let options = [
        ConfigurationOption(
            "echo", .bool, defaultValue: false,
            summary: "Whether an answer of `POST /chat` carries the request it answers, a debugging aid; never secrets."
        ),
        ConfigurationOption(
            "moderators", .list(of: .string(maximumLength: 64)), defaultValue: ["admin"],
            summary: "Accounts with one of these roles may remove messages from every chat room, and ban members."),
        ConfigurationOption(
            "limits.members", .integer(IntegerRange(1...100_000)), defaultValue: 2000, changesRecords: true,
            summary: "How many members a chat room may have."),
        ConfigurationOption(
            "limits.rooms", .integer(IntegerRange(1...10_000)), defaultValue: 500,
            summary: "Of how many chat rooms an account may be a member."),
        ConfigurationOption(
            "limits.pushes", .integer(IntegerRange(1...1000)), defaultValue: 32,
            summary: "Devices that are notified at once."),
        ConfigurationOption(
            "retention.interval", .integer(IntegerRange(1...86_400)), defaultValue: 3600,
            summary: "Seconds from one look for messages that are too old to the next."),
        ConfigurationOption(
            "upstream", .upstream, changesRecords: true,
            summary: "Another Twaddle server, with which messages are exchanged. Without it there is none."),
        ConfigurationOption(
            "rooms", .list(of: .string(maximumLength: 255)),
            summary: "The ids of the chat rooms whose messages are exchanged with the upstream."),
        ConfigurationOption("path", .string, summary: "Where the upstream takes its functions: `chat`."),
        ConfigurationOption(
            "refresh", .duration, summary: "How long after a look at the upstream's messages the next one follows: 1s."),
        ConfigurationOption(
            "limits.pending", .integer(IntegerRange(1...1_000_000)), defaultValue: 10_000,
            summary: "Messages of a chat room that wait for the upstream at most; the oldest are not sent any more."),
    ]

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let settings = try ChatSettings(configuration)
        return AdapterDeclaration(
            name: name, title: "Chat", summary: "Rooms, their members and their messages.", version: "1.0",
            entities: [
                Rooms.entity(maximumMembers: settings.maximumMembers), Messages.entity, ReadPositions.entity,
                Devices.entity, NotificationProgress.entity,
            ] + (settings.bridge == nil ? [] : [BridgedRooms.entity, BridgedEchoes.entity]),
            operations: [Twaddle.operation] + ChatFunction.all.map(\.operation), liveFeeds: [ChatLiveFeed.declaration],
            rules: ChatRules(maximumRooms: settings.maximumRooms))
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        ChatAdapter(try ChatSettings(configuration))
    }
}

/// The chat's configuration, read once.
struct ChatSettings: Sendable {
    let echoes: Bool
    let moderators: Set<RoleName>
    let maximumMembers: Int
    let maximumRooms: Int
    let pushesAtOnce: Int
    /// Seconds.
    let retentionInterval: Int
    /// Nil: no room is another server's too.
    let bridge: BridgeSettings?

    /// Throws ``ConfigurationProblem``.
    init(_ configuration: AdapterConfiguration) throws {
        bridge = try BridgeSettings(configuration)
        echoes = configuration["echo"]?.boolValue ?? false
        let roles = configuration["moderators"]?.arrayValue ?? ["admin"]
        moderators = Set(roles.compactMap(\.stringValue).compactMap { RoleName($0) })
        maximumMembers = configuration["limits", "members"]?.int64Value.map(Int.init) ?? 2000
        maximumRooms = configuration["limits", "rooms"]?.int64Value.map(Int.init) ?? 500
        pushesAtOnce = configuration["limits", "pushes"]?.int64Value.map(Int.init) ?? 32
        retentionInterval = configuration["retention", "interval"]?.int64Value.map(Int.init) ?? 3600
    }
}

/// Runs the chat function that a call names, for the Twaddle contract and the resources alike.
final class ChatAdapter: Adapter {
    private let settings: ChatSettings
    /// Set once, before the first call.
    private let context = Mutex<AdapterContext?>(nil)
    /// Tasks beside the calls.
    private let work = Mutex<[Task<Void, Never>]>([])

    init(_ settings: ChatSettings) {
        self.settings = settings
    }

    func start(_ context: AdapterContext) { self.context.withLock { $0 = context } }

    func activate() {
        guard let context = context.withLock({ $0 }) else { return }
        let (pushes, retention) = (
            MessagePushes(context: context, settings: settings), MessageRetention(context: context, settings: settings)
        )
        let bridges = bridges(context)
        work.withLock { work in
            work = [Task { await pushes.run() }, Task { await retention.run() }]
            work += bridges.map { bridge in Task { await bridge.run() } }
        }
    }

    private func bridges(_ context: AdapterContext) -> [ChatBridge] {
        guard let settings = settings.bridge, let upstream = context.upstream else { return [] }
        let client = TwaddleClient(upstream: upstream, path: settings.path)
        return settings.rooms.map { ChatBridge(room: $0, settings: settings, client: client, context: context) }
    }

    func drain() async {
        let tasks = work.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let context = context.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The chat has not started.", retryAfter: 1)
        }
        if call.operation == Twaddle.operation.name {
            return .value(.dictionary(try await Twaddle(call, context, settings).answer()))
        }
        guard let function = ChatFunction.by(call.operation) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
        return .value(.dictionary(try await function.answer(ChatCall(call, call.input, context, settings))))
    }
}

/// `GET /chat/v1/live`: what happens in the caller's rooms.
enum ChatLiveFeed {
    static let name: LiveFeedName = "live"
    static let typing: EventName = "typing"

    static let declaration = LiveFeed(
        name, summary: "What happens in the caller's rooms, as server-sent events.", path: "/chat/v1/live",
        group: LiveFeed.Group(
            Rooms.entity.name, members: Rooms.members, membership: "membership", changed: "room",
            fields: [Rooms.id, Rooms.name, Rooms.owner, Rooms.isPublic, Rooms.created]),
        sources: [
            LiveFeed.Source(
                Messages.entity.name, group: Messages.room, created: "message", changed: "edit", removed: "removal",
                fields: [
                    Messages.id, Messages.room, Messages.sequence, Messages.user, Messages.text, Messages.attachments,
                    Messages.sent,
                    Messages.edited,
                ]),
            LiveFeed.Source(
                ReadPositions.entity.name, group: ReadPositions.room, created: "read", changed: "read", removed: nil,
                fields: [ReadPositions.room, ReadPositions.user, ReadPositions.sequence]),
        ],
        presence: "presence")
}
