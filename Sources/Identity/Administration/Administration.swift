import AdapterKit

/// What operators do with accounts, sessions, API keys, signing keys and the audit log.
///
/// Whether the actor may is decided by whoever calls. Every change is recorded with its actor in its own transaction and
/// holds when the method returns.
public struct Administration: Sendable {
    let context: IdentityContext
    let sessions: Sessions
    let passwords: PasswordChange
    let keys: SigningKeys

    /// The next key signs. Tokens of the ones before are accepted until they end, or, where the old keys are not to be
    /// trusted any more, from now on not at all: apps then refresh.
    public func rotateSigningKeys(trustingOld: Bool = true, by actor: Principal) async throws {
        try await keys.rotate(by: actor, trustingOld: trustingOld)
    }

    /// Reads the whole audit log and tells whether it is as it was written. `anchor` is a head that an earlier
    /// verification gave and that was kept elsewhere.
    public func verifyAudit(anchor: AuditHead? = nil) async throws -> AuditVerdict {
        try await AuditVerification(records: context.records, anchor: anchor).run()
    }

    /// Audit entries, latest first, at most `limit` (and at most ``Query/maximumLimit``), those before number `before`.
    public func auditEntries(before: Int64? = nil, limit: Int = 100) async throws -> [AuditEntry] {
        let filter = before.map { Filter.compare("id", .less, .string(AuditEntryRecord.id($0).text)) }
        let query = Query(filter, order: [SortKey("id", descending: true)], limit: min(limit, Query.maximumLimit))
        return try await context.records.page(query, in: IdentityCollections.auditEntries).records
            .map(AuditEntryRecord.read)
    }
}
