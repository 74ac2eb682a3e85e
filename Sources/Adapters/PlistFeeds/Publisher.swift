import AdapterKit

/// Carries publications out: reads, plans, writes; again where another publication was faster.
struct Publisher {
    static let maximumAttempts = 5

    let records: any RecordStore
    let clock: any WallClock

    func publish(_ content: FeedContent, as name: FeedName, title: String?, by publisher: String) async throws
        -> Publication
    {
        try await carryOut(name) { current in
            let publication = Publication.publish(
                content, as: name, title: title, over: current, by: publisher, at: clock.now())
            guard publication.changesAnything else { return publication }
            return publication.pruning(try await outdatedVersions(publication.state))
        }
    }

    /// Makes what another system has a version, unless it is what was last fetched from it; says which one has it. A
    /// roll-back holds until the other system has something else: `last` is the version that has what was last fetched.
    func take(
        _ content: FeedContent, as name: FeedName, last: Int64?, from upstream: UpstreamName, _ log: Log
    ) async throws -> Int64 {
        if let last, try await current(name) != nil,
            let version = try await records.record(Versions.id(of: last, of: name), in: Versions.entity.name),
            let document = version[Versions.content].dictionaryValue, content.hasContent(of: document)
        {
            return last
        }
        if let shown = try await current(name)?.state, content.hasContent(of: shown.content) { return shown.version }
        let publication = try await publish(content, as: name, title: nil, by: "upstream \(upstream)")
        if publication.changesAnything {
            log.info(
                "feed fetched", ["feed": .text(name.text), "version": .number(publication.state.version)])
        }
        return publication.state.version
    }

    /// Throws `record.notFound` for a feed or a version that is not there.
    func rollBack(_ name: FeedName, to version: Int64) async throws -> Publication {
        try await carryOut(name) { current in
            guard let current else { throw PorticoError.noFeed(name) }
            let id = Versions.id(of: version, of: name)
            guard let record = try await records.record(id, in: Versions.entity.name),
                let content = record[Versions.content].dictionaryValue
            else {
                throw PorticoError(.recordNotFound, "There is no version \(version) of \(name).", target: "version")
            }
            return .rollBack(current, to: version, content, at: clock.now())
        }
    }

    private func carryOut(
        _ name: FeedName, _ plan: (FeedRecord?) async throws -> Publication
    ) async throws -> Publication {
        for _ in 0..<Self.maximumAttempts {
            let publication = try await plan(try await current(name))
            do {
                if publication.changesAnything { _ = try await records.apply(publication.changes) }
                return publication
            } catch let error as PorticoError where error.code == .preconditionFailed || error.code == .recordExists {
                continue
            }
        }
        throw PorticoError(.recordConflict, "Another caller is publishing \(name); try again.", target: "name")
    }

    private func current(_ name: FeedName) async throws -> FeedRecord? {
        try await records.record(name.id, in: Feeds.entityName).map {
            FeedRecord(state: try FeedState($0), revision: $0.revision)
        }
    }

    /// Versions beyond ``Versions/kept``, never the one that is shown.
    private func outdatedVersions(_ state: FeedState) async throws -> [RecordID] {
        let oldest = state.latestVersion - Versions.kept
        guard oldest > 0 else { return [] }
        let query = Query(
            .all([
                .compare(Versions.feed, .equal, .string(state.name.text)),
                .compare(Versions.version, .lessOrEqual, .int64(oldest)),
                .compare(Versions.version, .notEqual, .int64(state.version)),
            ]), limit: Int(Versions.kept))
        return try await records.query(query, in: Versions.entity.name).records.map(\.id)
    }
}

extension PorticoError {
    static func noFeed(_ name: FeedName) -> PorticoError {
        PorticoError(.recordNotFound, "There is no feed \(name).", target: "name")
    }
}

/// A feed after a publication or a roll-back, and the changes that make it so; nothing is written here.
struct Publication: Equatable {
    let state: FeedState
    /// Empty where the feed shows this content already.
    let changes: [RecordChange]

    var changesAnything: Bool { !changes.isEmpty }

    /// A new version, unless the feed shows the same content under the same title.
    static func publish(
        _ content: FeedContent, as name: FeedName, title: String?, over current: FeedRecord?, by publisher: String,
        at now: WireDate
    ) -> Publication {
        let title = title ?? current?.state.title ?? name.text
        if let state = current?.state, state.content == content.document {
            guard state.title != title else { return Publication(state: state, changes: []) }
            // Cannot trap: looked at in the condition.
            return rename(current!, title)
        }
        let number = (current?.state.latestVersion ?? 0) + 1
        let state = FeedState(
            name: name, title: title, version: number, latestVersion: number, published: now,
            content: content.document)
        let version = RecordChange(Versions.entity.name, .create(nil, state.versionFields(publisher)))
        return Publication(state: state, changes: [show(state, over: current), version])
    }

    /// The content of a version that was published before.
    static func rollBack(_ current: FeedRecord, to version: Int64, _ content: WireDictionary, at now: WireDate)
        -> Publication
    {
        guard current.state.version != version else { return Publication(state: current.state, changes: []) }
        let state = FeedState(
            name: current.state.name, title: current.state.title, version: version,
            latestVersion: current.state.latestVersion, published: now, content: content)
        return Publication(state: state, changes: [show(state, over: current)])
    }

    /// Together with versions that are older than what is kept.
    func pruning(_ versions: [RecordID]) -> Publication {
        Publication(
            state: state, changes: changes + versions.map { RecordChange(Versions.entity.name, .delete($0)) })
    }
}

/// A feed as it was read, and which revision that is.
struct FeedRecord: Equatable {
    let state: FeedState
    let revision: Revision
}

extension Publication {
    private static func rename(_ current: FeedRecord, _ title: String) -> Publication {
        let old = current.state
        let state = FeedState(
            name: old.name, title: title, version: old.version, latestVersion: old.latestVersion,
            published: old.published, content: old.content)
        return Publication(state: state, changes: [show(state, over: current)])
    }

    /// Only over the state that was read: what was published meanwhile is not overwritten.
    private static func show(_ state: FeedState, over current: FeedRecord?) -> RecordChange {
        guard let current else { return RecordChange(Feeds.entityName, .create(nil, state.fields)) }
        return RecordChange(Feeds.entityName, .update(state.name.id, state.fields), if: .revision(current.revision))
    }
}

extension FeedState {
    /// The record of the version that it shows.
    func versionFields(_ publisher: String) -> WireDictionary {
        [
            Versions.id.text: .string(Versions.id(of: version, of: name).text), Versions.feed.text: .string(name.text),
            Versions.version.text: .int64(version), Versions.published.text: .date(published),
            Versions.publishedBy.text: .string(publisher), Versions.content.text: .dictionary(content),
        ]
    }
}
