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
