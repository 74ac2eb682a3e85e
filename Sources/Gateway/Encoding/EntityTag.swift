/// A strong entity tag (RFC 9110, section 8.8.3): the version of what is shown, and the variant that shows it.
///
/// `"42-json"`, `"42-json-gzip"`. Two variants have different bytes, so their tags differ; a precondition for a write
/// looks at the version alone.
struct EntityTag: Sendable, Equatable {
    let version: String
    let variant: String

    var text: String { "\"\(version)-\(variant)\"" }
}

/// The members of an `If-Match` or `If-None-Match` field, `W/` taken off, quotes kept.
struct EntityTagList: Sequence {
    private let tags: [String]

    init(_ field: String) {
        tags = field.split(separator: ",").map { piece in
            let tag = piece.trimmingSpaces()
            return String(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag)
        }
    }

    func makeIterator() -> IndexingIterator<[String]> { tags.makeIterator() }
}
