import WireFormats

/// How one answer is written: a format, and a content coding where the caller takes one.
struct ResponseVariant: Sendable {
    let format: any WireFormat
    let mediaType: String
    let coding: ContentCoding?

    /// Tells variants apart in entity tags and in the answer cache.
    var name: String {
        coding.map { "\(format.name)-\($0.rawValue)" } ?? format.name.text
    }
}
