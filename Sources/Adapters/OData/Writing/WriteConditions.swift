import AdapterKit

/// Conditions of a write (RFC 9110, section 13.1; Protocol 4.01, section 8.2.4).
struct WriteConditions: Sendable {
    private let ifMatch: String?
    private let ifNoneMatch: String?

    init(_ headers: MountHeaders) {
        ifMatch = headers["If-Match"]
        ifNoneMatch = headers["If-None-Match"]
    }

    var allowsChange: Bool { ifNoneMatch == nil }

    /// Throws `record.preconditionFailed` for a record that they do not hold for.
    func check(_ record: Record?) throws(PorticoError) {
        if let ifMatch {
            guard let record else { throw Self.failed }
            if let revisions = EntityTag.revisions(ifMatch), !revisions.contains(record.revision) { throw Self.failed }
        }
        if let ifNoneMatch, let record {
            guard let revisions = EntityTag.revisions(ifNoneMatch) else { throw Self.failed }
            if revisions.contains(record.revision) { throw Self.failed }
        }
    }

    static let failed = PorticoError(.preconditionFailed, "The entity is not in the state that the request names.")
}
