import AdapterKit
import NIOCore
import RecordStorage
import ValueTree
import WireFormats

/// Turns a stretch of the log into a feed's events.
struct LiveFeedReader: Sendable {
    let feed: LiveFeed
    let adapter: AdapterName
    let epoch: Epoch
    private let groups: CollectionID
    private let sources: [CollectionID: LiveFeed.Source]
    private let keys: [CollectionID: FieldName]

    /// Throws where the declaration makes no sense (``LiveFeed/check(in:)``).
    init(_ feed: LiveFeed, of declaration: AdapterDeclaration, epoch: Epoch) throws {
        try feed.check(in: declaration)
        self.feed = feed
        self.epoch = epoch
        adapter = declaration.name
        groups = CollectionID(declaration.name, feed.group.entity)
        sources = Dictionary(
            feed.sources.map { (CollectionID(declaration.name, $0.entity), $0) }, uniquingKeysWith: { $1 })
        keys = Dictionary(
            declaration.entities.map { (CollectionID(declaration.name, $0.name), $0.key.field) },
            uniquingKeysWith: { $1 })
    }

    /// Throws `sync.fetchAgain` for a position below the log's floor.
    func page(after position: Revision, limits: LiveFeedSettings, at snapshot: any StoreSnapshot) throws -> LiveFeedPage
    {
        let entries = try snapshot.changes(after: position, limit: limits.page)
        try snapshot.prefetch(
            entries.filter { $0.collection == groups || sources[$0.collection] != nil }
                .map { .record($0.id, in: $0.collection) })
        var changes: [LiveFeedChanges] = []
        var bytes = 0
        for (index, entry) in entries.enumerated() {
            if entry.collection == groups {
                changes.append(contentsOf: try membership(entry, later: entries[(index + 1)...], at: snapshot))
            } else if let source = sources[entry.collection] {
                changes.append(contentsOf: try change(entry, source, at: snapshot))
            } else {
                continue
            }
            bytes += changes.last?.event.readableBytes ?? 0
            if bytes > limits.pieceBytes {
                return LiveFeedPage(changes: changes, through: entry.position, isComplete: false)
            }
        }
        let isComplete = entries.count < limits.page
        let last = entries.last?.position ?? position
        return LiveFeedPage(
            changes: changes, through: isComplete ? max(last, snapshot.position) : last, isComplete: isComplete)
    }

    /// The groups that an account is a member of now.
    func groups(of name: String, at snapshot: any StoreSnapshot) throws -> Set<RecordID> {
        let query = Query(.listContains(feed.group.members, .string(name)), limit: Query.maximumLimit)
        return Set(try snapshot.query(query, in: groups).records.map(\.id))
    }
}

extension LiveFeedReader {
    /// Nothing for what was removed since, or belongs to no group: a later entry has what became of it.
    private func change(
        _ entry: LogEntry, _ source: LiveFeed.Source, at snapshot: any StoreSnapshot
    ) throws -> [LiveFeedChanges] {
        var data: WireDictionary = [:]
        let name: EventName?
        let group: WireValue?
        if entry.kind == .put, let record = try snapshot.record(entry.id, in: entry.collection, visible: nil) {
            name = entry.previousRevision == nil ? source.created : source.changed
            group = record[source.group]
            for field in source.fields { data[field.text] = record[field] }
        } else {
            name = entry.kind == .remove ? source.removed : nil
            group = entry.previousScopeValues[source.group.text]
            data[keys[entry.collection]?.text ?? "id"] = .string(entry.id.text)
            data[source.group.text] = group
        }
        guard let name, let id = group.flatMap({ RecordID(key: $0) }) else { return [] }
        return [
            LiveFeedChanges(
                position: entry.position, group: id, event: try text(name, data, at: entry.position), membership: nil)
        ]
    }

    private func membership(
        _ entry: LogEntry, later: ArraySlice<LogEntry>, at snapshot: any StoreSnapshot
    ) throws -> [LiveFeedChanges] {
        let record = try snapshot.record(entry.id, in: entry.collection, visible: nil)
        let next = later.first { $0.id == entry.id && $0.collection == entry.collection }
        let before = entry.previousRevision == nil ? [] : names(entry.previousScopeValues[feed.group.members.text])
        let after =
            entry.kind == .remove
            ? []
            : names(
                next?.previousScopeValues[feed.group.members.text] ?? record?[feed.group.members])
        let (was, isNow) = (Set(before), Set(after))
        let (joined, left) = (after.filter { !was.contains($0) }, before.filter { !isNow.contains($0) })
        let key = keys[entry.collection]?.text ?? "id"
        guard !joined.isEmpty || !left.isEmpty else {
            guard let record else { return [] }
            let event = try text(feed.group.changed, visibleMembers(record), at: entry.position)
            return [LiveFeedChanges(position: entry.position, group: entry.id, event: event, membership: nil)]
        }
        var data = record.map(visibleMembers) ?? [key: .string(entry.id.text)]
        data["joined"] = .array(joined.map(WireValue.string))
        data["left"] = .array(left.map(WireValue.string))
        let departureEvent: WireDictionary = [
            key: .string(entry.id.text), "joined": [], "left": .array(left.map(WireValue.string)),
        ]
        return [
            LiveFeedChanges(
                position: entry.position, group: entry.id,
                event: try text(feed.group.membership, data, at: entry.position),
                membership: LiveFeedChanges.Membership(
                    joined: joined, left: left,
                    departureEvent: try text(feed.group.membership, departureEvent, at: entry.position)))
        ]
    }

    private func visibleMembers(_ record: Record) -> WireDictionary {
        var data: WireDictionary = [:]
        for field in feed.group.fields { data[field.text] = record[field] }
        return data
    }

    private func names(_ value: WireValue?) -> [String] { (value?.arrayValue ?? []).compactMap(\.stringValue) }

    private func text(_ name: EventName, _ data: WireDictionary, at position: Revision) throws -> ByteBuffer {
        try ServerSentEvents.event(name.text, id: LiveFeedPosition.text(position, in: epoch), data: .dictionary(data))
    }
}

/// One entry of the log as members of a group receive it: one event, written once for all of them.
struct LiveFeedChanges: Sendable {
    let position: Revision
    let group: RecordID
    let event: ByteBuffer
    /// Nil: the members stay who they are.
    let membership: Membership?

    struct Membership: Sendable {
        let joined: [String]
        let left: [String]
        /// The event for members that left.
        let departureEvent: ByteBuffer
    }

    /// The event for a member of these groups of this name; nil: none.
    func event(for name: String, in groups: Set<RecordID>) -> ByteBuffer? {
        if groups.contains(group) { return event }
        guard let membership, membership.left.contains(name) else { return nil }
        return membership.departureEvent
    }
}

/// A stretch of the log.
struct LiveFeedPage: Sendable {
    let changes: [LiveFeedChanges]
    /// The last position that was looked at.
    let through: Revision
    /// Whether that was the end of the log.
    let isComplete: Bool
}

/// The position of an event, as in its id: the store's epoch, a dot, the operation id.
struct LiveFeedPosition {
    static func text(_ position: Revision, in epoch: Epoch) -> String { "\(epoch).\(position)" }

    /// Nil for what is no id of this store's history.
    static func read(_ text: String, in epoch: Epoch) -> Revision? {
        guard let dot = text.lastIndex(of: "."), text[..<dot] == epoch.text,
            let number = Int64(text[text.index(after: dot)...]), number >= 0
        else { return nil }
        return Revision(number)
    }
}
