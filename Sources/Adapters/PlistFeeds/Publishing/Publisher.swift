import AdapterKit

/// Carries publications out: reads, plans, writes; again where somebody else was faster.
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
            return publication.pruning(try await outdated(publication.state))
        }
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
        throw PorticoError(.recordConflict, "Somebody else is publishing \(name); try again.", target: "name")
    }

    private func current(_ name: FeedName) async throws -> FeedRecord? {
        try await records.record(name.id, in: Feeds.entityName).map {
            FeedRecord(state: try FeedState($0), revision: $0.revision)
        }
    }

    /// Versions beyond ``Versions/kept``, never the one that is shown.
    private func outdated(_ state: FeedState) async throws -> [RecordID] {
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
