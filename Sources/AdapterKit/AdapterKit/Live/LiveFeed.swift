/// A stream of what happens in an adapter, as it happens: server-sent events for each caller that opens it.
///
/// Who hears what goes by groups: records of one entity, a list field of which names the members' accounts. An event
/// belongs to one group and reaches those who are members of it when it happens. Events that stand for changes are read
/// from the store's log, in its order and each once, so a stream that was cut goes on with the event after the last one
/// that arrived. Signals (``LiveSignals``) are told to whoever listens at the moment and kept nowhere.
///
/// Declaring one gives it a path, its part of the service description, and the limits of the host's live streams.
public struct LiveFeed: Sendable, Equatable {
    public let name: FeedName
    public let summary: String
    public let path: PathTemplate
    public let group: Group
    public let sources: [Source]
    /// The event that tells members of somebody's groups that an account began or ceased to listen; nil: nobody is told.
    /// Its data is `user` and `online`.
    public let presence: EventName?

    public init(
        _ name: FeedName, summary: String, path: PathTemplate, group: Group, sources: [Source],
        presence: EventName? = nil
    ) {
        self.name = name
        self.summary = summary
        self.path = path
        self.group = group
        self.sources = sources
        self.presence = presence
    }

    /// The records that are groups.
    public struct Group: Sendable, Equatable {
        public let entity: EntityName
        /// The list field that names the members. The entity's read rule is `sharedWith` this field.
        public let members: FieldName
        /// Somebody came or went: the fields of `tells`, and the names in `joined` and `left`. Those who left get the
        /// group's id and `left` alone.
        public let membership: EventName
        /// Anything else of the record changed.
        public let changed: EventName
        /// Fields that the events carry.
        public let tells: [FieldName]

        public init(
            _ entity: EntityName, members: FieldName, membership: EventName, changed: EventName, tells: [FieldName]
        ) {
            self.entity = entity
            self.members = members
            self.membership = membership
            self.changed = changed
            self.tells = tells
        }
    }

    /// Records that belong to groups, and the events that their changes are.
    public struct Source: Sendable, Equatable {
        public let entity: EntityName
        /// The field that holds the group's id. Where the entity has doors of its own, its read rule is `memberOf` the
        /// group by this field.
        public let group: FieldName
        public let created: EventName
        public let changed: EventName
        /// The data are the record's key and its group; nil: nobody is told.
        public let removed: EventName?
        public let tells: [FieldName]

        public init(
            _ entity: EntityName, group: FieldName, created: EventName, changed: EventName, removed: EventName?,
            tells: [FieldName]
        ) {
            self.entity = entity
            self.group = group
            self.created = created
            self.changed = changed
            self.removed = removed
            self.tells = tells
        }
    }
}

/// Names a live feed within its adapter: letters, digits and `-`, at most 64 characters.
public struct FeedName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 64, others: "-") }
}

/// Names an event of a live feed: letters, digits and `-`, at most 64 characters. The host's own are `ready`, `reset`,
/// `reconnect` and `error`.
public struct EventName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 64, others: "-") }
}
