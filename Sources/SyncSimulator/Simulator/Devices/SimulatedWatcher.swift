import SyncDevice
import SyncMessages
import WireFormats

/// A screen that follows its person's rows by a live stream alone: it applies each event's page as it comes, and comes
/// back with the id of the last one.
struct SimulatedWatcher {
    let person: String
    let format: any WireFormat
    /// Somebody looks at it.
    var isOn = true
    /// Counts its connections; what comes from an earlier one is lost with it.
    var connection = 0
    /// The id of the last event that came.
    var lastEvent: String?
    private(set) var rows: [RecordKey: Int64] = [:]

    mutating func forget() {
        lastEvent = nil
        rows = [:]
    }

    /// The checkpoint, where the page completes one. Throws ``Violation`` for a count or checksum that disagrees.
    mutating func apply(_ page: PullPage) throws -> String? {
        for key in rows.keys where page.reset.contains(key.collection) { rows[key] = nil }
        for operation in page.operations {
            let key = RecordKey(operation.collection, operation.id)
            if case .put = operation.kind { rows[key] = operation.rev } else { rows[key] = nil }
        }
        switch page.ending {
        case .next(let token):
            lastEvent = token
            return nil
        case .complete(let completion):
            lastEvent = completion.checkpoint
            for scope in completion.scopes where summary(scope.scope) != (scope.count, scope.checksum) {
                throw Violation(8, "a screen of \(person) has other \(scope.scope) than its stream counts")
            }
            return completion.checkpoint
        }
    }

    private func summary(_ collection: String) -> (Int, String) {
        var checksum = ScopeChecksum()
        for (key, rev) in rows where key.collection == collection {
            checksum.add(collection: collection, id: key.id, rev: rev)
        }
        return (checksum.count, checksum.text)
    }
}
