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
            throw PorticoError(
                .preconditionFailed,
                "The record is not in the state that If-Match names. "
                    + "A GET of it answers its current ETag: send that in If-Match.")
        }
        return .revision(revision)
    }

    private static func revision(_ tag: String) -> Revision? {
        guard tag.first == "\"", tag.last == "\"", tag.count > 2 else { return nil }
        let version = tag.dropFirst().dropLast().prefix { $0 != "-" }
        return Int64(version).map(Revision.init)
    }
}

/// A strong entity tag (RFC 9110, section 8.8.3): the version of what is shown, and the variant that shows it.
///
/// `"42-json"`, `"42-json-gzip"`. Two variants have different bytes, so their tags differ; a precondition for a write
/// looks at the version alone.
struct EntityTag: Sendable, Equatable {
    let version: String
    let variant: String

    var text: String { "\"\(version)-\(variant)\"" }
}

/// The members of an `If-Match` or `If-None-Match` field, quotes kept. Iterating takes `W/` off, which is the weak
/// comparison of `If-None-Match`.
struct EntityTagList: Sequence {
    /// As they were sent, which is what the strong comparison of `If-Match` looks at.
    let withWeakness: [String]

    init(_ field: String) {
        withWeakness = field.split(separator: ",").map { String($0.trimmingSpaces()) }
    }

    func makeIterator() -> IndexingIterator<[String]> {
        withWeakness.map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 }.makeIterator()
    }
}
