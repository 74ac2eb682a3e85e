import WireFormats

/// That a request names `text/html` in `Accept`, as browsers do and programs do not.
struct PagePreference {
    private let ranges: [MediaRange]
    private let page: Int

    /// Nil where the field names no pages, excludes them, or breaks its grammar. A wildcard names none.
    init?(accept: String?) {
        guard let ranges = MediaRange.list(accept ?? ""),
            let page = ranges.firstIndex(where: { $0.type.essence == "text/html" }), ranges[page].quality > 0
        else { return nil }
        self.ranges = ranges
        self.page = page
    }

    /// Whether a page is preferred to the format that a range of the same field chose: by weight, then as the more
    /// specific one, then by order (RFC 9110, section 12.5.1).
    func precedes(_ other: MediaRange?) -> Bool {
        guard let other, let place = ranges.firstIndex(of: other) else { return false }
        if ranges[page].quality != other.quality { return ranges[page].quality > other.quality }
        return other.type.subtype == "*" || page < place
    }
}
