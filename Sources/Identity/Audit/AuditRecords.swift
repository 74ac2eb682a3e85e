import AdapterKit

/// How an audit entry lies in the store: its id is its number in 19 digits, so that the order of ids is that of entries.
enum AuditEntryRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.auditEntries, summary: "Sign-ins, refusals and administration, hash-chained.",
        fields: [
            Field("number", .integer, isRequired: true),
            Field("milliseconds", .integer, isRequired: true),
            Field("kind", .string(maximumLength: 64), isRequired: true),
            Field("actor", .string(maximumLength: 64), isRequired: true),
            Field("subject", .string(maximumLength: 255), isRequired: true),
            Field("address", .string(maximumLength: 64), isRequired: true),
            Field("detail", .string(maximumLength: 1024), isRequired: true),
            Field("digest", .data(maximumBytes: 32), isRequired: true),
        ])

    static func id(_ number: Int64) -> RecordID {
        let digits = String(number)
        return RecordID(unchecked: String(repeating: "0", count: max(0, 19 - digits.count)) + digits)
    }

    static func read(_ record: Record) throws -> AuditEntry {
        let reader = RecordReader(record)
        return AuditEntry(
            number: try reader.integer("number"), milliseconds: try reader.integer("milliseconds"),
            kind: try reader.text("kind"), actor: try reader.text("actor"), subject: try reader.text("subject"),
            address: try reader.text("address"), detail: try reader.text("detail"),
            digest: try reader.digest("digest").bytes)
    }

    static func creation(_ entry: AuditEntry) -> RecordChange {
        let fields: WireDictionary = [
            "number": .int64(entry.number), "milliseconds": .int64(entry.milliseconds), "kind": .string(entry.kind),
            "actor": .string(entry.actor), "subject": .string(entry.subject), "address": .string(entry.address),
            "detail": .string(entry.detail), "digest": .data(entry.digest),
        ]
        return RecordChange(IdentityCollections.auditEntries, .create(id(entry.number), fields), if: .absent)
    }
}

/// The one record that says where the audit log ends, so that a log cut off at its end does not look whole.
enum AuditHeadRecord {
    static let id: RecordID = "head"

    static let entity = IdentityCollections.entity(
        IdentityCollections.auditHead, summary: "Where the audit log ends.",
        fields: [
            Field("count", .integer, isRequired: true), Field("digest", .data(maximumBytes: 32), isRequired: true),
        ])

    static func read(_ record: Record) throws -> AuditHead {
        let reader = RecordReader(record)
        return AuditHead(count: try reader.integer("count"), digest: try reader.digest("digest").bytes)
    }

    /// Refused where another writer has moved the head since `record` was read.
    static func move(_ record: Record?, to head: AuditHead) -> RecordChange {
        let fields: WireDictionary = ["count": .int64(head.count), "digest": .data(head.digest)]
        guard let record else { return RecordChange(IdentityCollections.auditHead, .create(id, fields), if: .absent) }
        return RecordChange(IdentityCollections.auditHead, .update(id, fields), if: .revision(record.revision))
    }
}
