import AdapterKit

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
            "limits.members", .integer(IntegerRange(1...100_000)), defaultValue: 2000,
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
    ]

    public static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        let settings = ChatSettings(configuration)
        return AdapterDeclaration(
            name: name, title: "Chat", summary: "Rooms, their members and their messages.", version: "1.0",
            entities: [
                Rooms.entity(maximumMembers: settings.maximumMembers), Messages.entity, ReadPositions.entity,
                Devices.entity, PushProgress.entity,
            ],
            operations: [Twaddle.operation] + ChatFunction.all.map(\.operation), liveFeeds: [ChatFeed.declaration],
            rules: ChatRules(maximumRooms: settings.maximumRooms))
    }

    public static func make(_ configuration: AdapterConfiguration) -> any Adapter {
        ChatAdapter(ChatSettings(configuration))
    }
}

/// What the configuration says, read once.
struct ChatSettings: Sendable {
    let echoes: Bool
    let moderators: Set<RoleName>
    let maximumMembers: Int
    let maximumRooms: Int
    let pushesAtOnce: Int
    /// Seconds.
    let retentionInterval: Int

    init(_ configuration: AdapterConfiguration) {
        echoes = configuration["echo"]?.boolValue ?? false
        let roles = configuration["moderators"]?.arrayValue ?? ["admin"]
        moderators = Set(roles.compactMap(\.stringValue).compactMap { RoleName($0) })
        maximumMembers = configuration["limits", "members"]?.int64Value.map(Int.init) ?? 2000
        maximumRooms = configuration["limits", "rooms"]?.int64Value.map(Int.init) ?? 500
        pushesAtOnce = configuration["limits", "pushes"]?.int64Value.map(Int.init) ?? 32
        retentionInterval = configuration["retention", "interval"]?.int64Value.map(Int.init) ?? 3600
    }
}
