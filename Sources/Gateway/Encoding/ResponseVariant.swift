import WireFormats

/// How one answer is written: a format, and a content coding where the caller takes one.
struct ResponseVariant: Sendable {
    let format: any WireFormat
    let mediaType: String
    let coding: ContentCoding?
    /// A page for people in the format's place (``ValuePage``).
    var isPage = false

    /// Tells variants apart in entity tags and in the answer cache.
    var name: String {
        let name = isPage ? "page" : format.name.text
        return coding.map { "\(name)-\($0.rawValue)" } ?? name
    }
}
