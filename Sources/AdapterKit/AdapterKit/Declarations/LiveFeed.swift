/// A stream of what happens in an adapter, as it happens: server-sent events for each caller that opens it.
///
/// Who hears what goes by groups: records of one entity, a list field of which names the members' accounts. An event
/// belongs to one group and reaches those who are members of it when it happens. Events that stand for changes are read
/// from the store's log, in its order and each once, so a stream that was cut goes on with the event after the last one
/// that arrived. Signals (``LiveSignals``) are sent to open streams only and are not stored.
///
/// Declaring one gives it a path, its part of the service description, and the limits of the host's live streams.
public struct LiveFeed: Sendable, Equatable {
    /// The feed's name within its adapter.
    public let name: LiveFeedName
    /// One sentence for descriptions.
    public let summary: String
    /// The path that is opened for the stream.
    public let path: PathTemplate
    /// The records whose members receive the events.
    public let group: Group
    /// The records whose changes become events.
    public let sources: [Source]
    /// Sent to the members of an account's groups when the account opens its first stream or closes its last one; nil: no
    /// such event. Its data is `user` and `online`.
    public let presence: EventName?

    /// Creates a live feed with these values.
    public init(
        _ name: LiveFeedName, summary: String, path: PathTemplate, group: Group, sources: [Source],
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
        /// The entity of the groups.
        public let entity: EntityName
        /// The list field that names the members. The entity's read rule is `sharedWith` this field.
        public let members: FieldName
        /// The members changed: the fields of `fields`, and the names in `joined` and `left`. Those who left get the
        /// group's id and `left` alone.
        public let membership: EventName
        /// Anything else of the record changed.
        public let changed: EventName
        /// Fields that the events carry.
        public let fields: [FieldName]

        /// Creates a group with these values.
        public init(
            _ entity: EntityName, members: FieldName, membership: EventName, changed: EventName, fields: [FieldName]
        ) {
            self.entity = entity
            self.members = members
            self.membership = membership
            self.changed = changed
            self.fields = fields
        }
    }

    /// Records that belong to groups, and the events that their changes are.
    public struct Source: Sendable, Equatable {
        /// The entity of the records.
        public let entity: EntityName
        /// The field that holds the group's id. Where the entity is served by itself, its read rule is `memberOf` the
        /// group by this field.
        public let group: FieldName
        /// The event of a record's creation.
        public let created: EventName
        /// The event of a record's change.
        public let changed: EventName
        /// The data are the record's key and its group; nil: no event.
        public let removed: EventName?
        /// The fields that the events carry.
        public let fields: [FieldName]

        /// Creates a source with these values.
        public init(
            _ entity: EntityName, group: FieldName, created: EventName, changed: EventName, removed: EventName?,
            fields: [FieldName]
        ) {
            self.entity = entity
            self.group = group
            self.created = created
            self.changed = changed
            self.removed = removed
            self.fields = fields
        }
    }
}

/// Names a live feed within its adapter: letters, digits and `-`, at most 64 characters.
public struct LiveFeedName: ValidatedName {
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

extension LiveFeed {
    /// Throws ``PorticoError`` where the feed names what is not there, or would send a caller a record that the row rules
    /// hide from it.
    public func check(in declaration: AdapterDeclaration) throws(PorticoError) {
        let groups = try entity(group.entity, of: declaration)
        try require(groups.rows.read == .sharedWith(group.members), "its groups are not read by their members alone")
        try require(Self.has(group.fields, groups), "it sends a field that its groups do not have")
        for source in sources {
            let entity = try entity(source.entity, of: declaration)
            try require(entity.field(source.group) != nil, "\(entity.name) has no field `\(source.group)`")
            try require(Self.has(source.fields, entity), "it sends a field that \(entity.name) does not have")
            let rule = RowRule.memberOf(group.entity, through: source.group, members: group.members)
            try require(
                entity.exposure == .adapterOnly || entity.rows.read == rule,
                "\(entity.name) is not read by the group's members alone")
        }
    }

    private static func has(_ fields: [FieldName], _ entity: Entity) -> Bool {
        fields.allSatisfy { entity.field($0) != nil }
    }

    private func entity(_ name: EntityName, of declaration: AdapterDeclaration) throws(PorticoError) -> Entity {
        guard let entity = declaration.entity(name) else { throw fault("there is no entity `\(name)`") }
        return entity
    }

    private func require(_ holds: Bool, _ reason: String) throws(PorticoError) {
        guard holds else { throw fault(reason) }
    }

    private func fault(_ reason: String) -> PorticoError {
        PorticoError(.serverInternal, "The declaration of the feed \(name) is wrong: \(reason).")
    }
}
