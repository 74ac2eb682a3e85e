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
            summary: "Who holds one of these roles removes messages from every room, and bans from it."),
        ConfigurationOption(
            "limits.members", .integer(IntegerRange(1...100_000)), defaultValue: 2000,
            summary: "How many accounts one room may have."),
        ConfigurationOption(
            "limits.rooms", .integer(IntegerRange(1...10_000)), defaultValue: 500,
            summary: "In how many rooms one account may be."),
    ]

    public static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Chat", summary: "Rooms, their members and their messages.", version: "1.0",
            entities: [Rooms.entity, Messages.entity, ReadMarks.entity, Devices.entity],
            operations: [Twaddle.operation] + ChatFunction.all.map(\.operation), feeds: [ChatFeed.declaration])
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

    init(_ configuration: AdapterConfiguration) {
        echoes = configuration["echo"]?.boolValue ?? false
        let roles = configuration["moderators"]?.arrayValue ?? ["admin"]
        moderators = Set(roles.compactMap(\.stringValue).compactMap { RoleName($0) })
        maximumMembers = configuration["limits", "members"]?.int64Value.map(Int.init) ?? 2000
        maximumRooms = configuration["limits", "rooms"]?.int64Value.map(Int.init) ?? 500
    }
}
