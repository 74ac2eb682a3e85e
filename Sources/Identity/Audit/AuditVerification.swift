import AdapterKit

/// The result of reading the whole audit log again.
public enum AuditVerdict: Sendable, Equatable {
    /// Every entry is as it was written, none is missing.
    case intact(AuditHead)
    /// The first entry at which something is wrong.
    case broken(number: Int64, AuditFault)
}

public enum AuditFault: String, Sendable, CaseIterable {
    /// It is not what was written after the entry before it.
    case altered
    /// It is not there, though later ones are, or the head says that it was.
    case missing
    /// The head does not belong to the last entry.
    case headAltered
    /// An entry lies beyond the head.
    case beyondHead
    /// The log is whole in itself, but not the one that the given head belongs to.
    case otherHistory
    /// The log begins at a place that no entry vouches for.
    case baseAltered
    /// The given head is older than the entries that are left, so it cannot be verified.
    case headRemoved
}

/// Follows the chain from its first entry, or from the place where entries were cut off (``AuditCut``), to the head.
struct AuditVerification {
    let records: IdentityRecords
    /// A head that was kept elsewhere.
    let anchor: AuditHead?

    func run() async throws -> AuditVerdict {
        let (base, head) = try await bounds()
        var reached = base
        var isAnchored = anchor == nil || anchor == reached
        var isBaseVouched = base == .empty
        while reached.count < head.count {
            let entries = try await entries(after: reached, upTo: head)
            guard !entries.isEmpty else { return .broken(number: reached.count + 1, .missing) }
            for entry in entries {
                guard entry.follows(reached) else { return fault(entry, after: reached) }
                reached = AuditHead(entry)
                if reached == anchor { isAnchored = true }
                if entry.vouches(for: base) { isBaseVouched = true }
            }
        }
        guard reached == head else { return .broken(number: head.count, .headAltered) }
        guard isBaseVouched else { return .broken(number: base.count, .baseAltered) }
        guard isAnchored else { return anchorFault(after: base) }
        return try await faultBeyond(head) ?? .intact(head)
    }

    private func fault(_ entry: AuditEntry, after reached: AuditHead) -> AuditVerdict {
        .broken(number: reached.count + 1, entry.number > reached.count + 1 ? .missing : .altered)
    }

    private func anchorFault(after base: AuditHead) -> AuditVerdict {
        let count = anchor?.count ?? 0
        return .broken(number: count, count < base.count ? .headRemoved : .otherHistory)
    }

    /// Entries written while this runs move the head; one without that is a head set back.
    private func faultBeyond(_ head: AuditHead) async throws -> AuditVerdict? {
        let next = try await records.record(AuditEntryRecord.id(head.count + 1), in: IdentityCollections.auditEntries)
        guard next != nil, try await bounds().head == head else { return nil }
        return .broken(number: head.count + 1, .beyondHead)
    }

    /// Where the log begins and ends, at one moment: a cut moves both.
    private func bounds() async throws -> (base: AuditHead, head: AuditHead) {
        let page = try await records.page(Query(limit: 2), in: IdentityCollections.auditHead)
        func place(_ id: RecordID) throws -> AuditHead {
            try page.records.first { $0.id == id }.map(AuditHeadRecord.read) ?? .empty
        }
        return (try place(AuditBaseRecord.id), try place(AuditHeadRecord.id))
    }

    private func entries(after reached: AuditHead, upTo head: AuditHead) async throws -> [AuditEntry] {
        let range = Filter.all([
            .compare("id", .greater, .string(AuditEntryRecord.id(reached.count).text)),
            .compare("id", .lessOrEqual, .string(AuditEntryRecord.id(head.count).text)),
        ])
        let page = Query(range, limit: 1000)
        return try await records.page(page, in: IdentityCollections.auditEntries).records.map(AuditEntryRecord.read)
    }
}

extension AuditEntry {
    /// Whether it records the cut that left off at `base`.
    fileprivate func vouches(for base: AuditHead) -> Bool {
        kind == AuditEvent.Kind.auditCut.rawValue && detail == base.text
    }
}
