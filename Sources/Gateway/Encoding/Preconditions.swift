import AdapterKit
import HTTPTypes

/// The preconditions of a request that changes a record (RFC 9110, section 13).
struct Preconditions: Sendable {
    private let ifMatch: String?
    private let ifNoneMatch: String?

    init(_ headers: HTTPFields) {
        ifMatch = headers[.ifMatch]
        ifNoneMatch = headers[.ifNoneMatch]
    }

    /// A tag that this gateway never gave matches nothing: `record.preconditionFailed`. Nor does a weak one, as the
    /// comparison is the strong one (RFC 9110, section 13.1.1).
    func condition() throws(PorticoError) -> RecordChange.Condition {
        if let ifNoneMatch {
            guard ifNoneMatch == "*" else {
                throw PorticoError(.requestInvalid, "If-None-Match takes * when writing.", target: "If-None-Match")
            }
            return .absent
        }
        guard let ifMatch else { return .none }
        let tags = EntityTagList(ifMatch).withWeakness
        if tags == ["*"] { return .exists }
        guard tags.count == 1 else {
            throw PorticoError(.requestInvalid, "If-Match takes one entity tag here.", target: "If-Match")
        }
        guard let revision = Self.revision(tags[0]) else {
            throw PorticoError(.preconditionFailed, "The record is not in the state that If-Match names.")
        }
        return .revision(revision)
    }

    private static func revision(_ tag: String) -> Revision? {
        guard tag.first == "\"", tag.last == "\"", tag.count > 2 else { return nil }
        let version = tag.dropFirst().dropLast().prefix { $0 != "-" }
        return Int64(version).map(Revision.init)
    }
}
