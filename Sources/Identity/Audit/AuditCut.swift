import AdapterKit

/// Removes the oldest entries of the audit log, so that what is left can still be verified.
///
/// A cut is one transaction: the entries go, ``AuditBaseRecord`` names the last of them by number and digest, and an
/// entry at the log's end says the same. Verification begins at the base and believes it because an entry of the chain
/// vouches for it: moving the base forges an entry, which is found like every other forgery.
struct AuditCut: Sendable {
    /// How many entries one transaction removes.
    static let batch = 1000
    /// How many transactions one run makes; the rest waits for the next.
    static let batches = 20

    let context: IdentityContext

    /// Removes what is older than `age`, but never the last entry, once something is overdue by a tenth of it or a day:
    /// every cut is an entry too. Returns how many entries went.
    @discardableResult
    func removeEntries(olderThan age: Duration) async throws -> Int {
        let end = context.clock.now().secondsSince1970 - age.inSeconds
        let overdue = end - min(age.inSeconds / 10, 86_400)
        guard try await !entries(before: Int64(overdue * 1000)).isEmpty else { return 0 }
        var removed = 0
        for _ in 0..<Self.batches {
            let count = try await removeBatch(before: Int64(end * 1000))
            removed += count
            if count < Self.batch { break }
        }
        return removed
    }

    private func removeBatch(before milliseconds: Int64) async throws -> Int {
        try await context.writes.write(author: Principal.system.name) {
            let old = try await entries(before: milliseconds)
            guard let last = old.last else { return AuditedChange([], [], result: 0) }
            let base = AuditHead(last)
            let record = try await context.records.record(AuditBaseRecord.id, in: IdentityCollections.auditHead)
            let removals = old.map {
                RecordChange(IdentityCollections.auditEntries, .delete(AuditEntryRecord.id($0.number)))
            }
            return AuditedChange(
                removals + [AuditBaseRecord.move(record, to: base)],
                [AuditEvent(.auditCut, actor: Principal.system.id, subject: "auditLog", detail: base.text)],
                result: old.count)
        }
    }

    /// The log's beginning, as far as it is older: times may go back when a clock is set, so the first young entry ends
    /// it. The last entry stays: what a cut leaves must not be empty before it is written.
    private func entries(before milliseconds: Int64) async throws -> [AuditEntry] {
        let query = Query(order: [SortKey("id")], limit: Self.batch + 1)
        let first = try await context.records.page(query, in: IdentityCollections.auditEntries).records.map(
            AuditEntryRecord.read)
        return Array(first.dropLast().prefix { $0.milliseconds < milliseconds })
    }
}

/// The one record that says where the log begins, once entries were cut off: the last that was removed.
enum AuditBaseRecord {
    static let id: RecordID = "base"

    static func move(_ record: Record?, to base: AuditHead) -> RecordChange {
        let fields: WireDictionary = ["count": .int64(base.count), "digest": .data(base.digest)]
        guard let record else { return RecordChange(IdentityCollections.auditHead, .create(id, fields), if: .absent) }
        return RecordChange(IdentityCollections.auditHead, .update(id, fields), if: .revision(record.revision))
    }
}
