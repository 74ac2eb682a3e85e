import AdapterKit

/// `GET /chat/v1/live`: what happens in the caller's rooms.
enum ChatFeed {
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
