import AdapterKit

/// Removes messages that are older than their room keeps them.
struct MessageRetention: Sendable {
    private static let rooms = 200
    /// Messages of one transaction.
    private static let messages = 200

    let context: AdapterContext
    let settings: ChatSettings

    /// Until it is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(settings.retentionInterval))) != nil {
            do {
                try await sweep()
            } catch {
                context.log.warning("messages could not be removed", ["detail": .text("\(error)")])
            }
        }
    }

    private func sweep() async throws {
        var query = Query(.compare(Rooms.retention, .greater, .int64(0)), limit: Self.rooms)
        while !Task.isCancelled {
            let page = try await context.records.query(query, in: Rooms.entity.name)
            for room in page.records { try await sweep(room) }
            guard let next = page.next else { return }
            query.start = .after(next)
        }
    }

    /// Messages are in the order of their time, so the oldest tell whether there is anything to do.
    private func sweep(_ room: Record) async throws {
        guard let kept = room[Rooms.retention].int64Value, kept > 0 else { return }
        let oldest = Query(
            .compare(Messages.room, .equal, .string(room.id.text)), order: [SortKey(Messages.sequence)],
            limit: Self.messages)
        while !Task.isCancelled {
            let bound = context.clock.now().secondsSinceReferenceDate - Double(kept)
            let found = try await context.records.query(oldest, in: Messages.entity.name).records
            let old = found.prefix { ($0[Messages.sent].dateValue?.secondsSinceReferenceDate ?? .infinity) < bound }
            guard !old.isEmpty else { return }
            _ = try await context.records.apply(old.map { RecordChange(Messages.entity.name, .delete($0.id)) })
            if old.count < Self.messages { return }
        }
    }
}
