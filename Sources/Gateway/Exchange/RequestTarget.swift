/// The path and query of a request, taken apart once and strictly (RFC 3986, origin form).
final class RequestTarget: Sendable {
    /// As it came.
    let text: String
    /// As it came, without the query.
    let path: String
    /// Between the slashes, percent-decoded; `/a/b` is `["a", "b"]`, `/a/` is `["a", ""]`.
    let segments: [String]
    let query: [QueryItem]

    struct QueryItem: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// Nil where the text is not in origin form or an escape is broken.
    init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        let (path, query) = text.splitOnce(at: "?")
        guard let segments = Self.segments(path), let items = FormText.items(query ?? "") else { return nil }
        self.text = text
        self.path = String(path)
        self.segments = segments
        self.query = items
    }

    /// The path alone of a text that is too long or not well-formed: as much of it as `limit` bytes have, so that an
    /// error can be written in the shape of the contract there. The root where it has no path.
    static func path(of text: String, atMost limit: Int) -> RequestTarget {
        let path = text.utf8.prefix(limit).prefix { $0 != UInt8(ascii: "?") }
        if let target = RequestTarget(String(decoding: path, as: UTF8.self)) { return target }
        // The limit may have cut an escape.
        let whole = path.lastIndex(of: UInt8(ascii: "/")).map { path[..<$0] } ?? path.prefix(0)
        return RequestTarget(String(decoding: whole, as: UTF8.self)) ?? .root
    }

    /// The first value of a query parameter.
    subscript(name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private static func segments(_ path: Substring) -> [String]? {
        var segments: [String] = []
        for piece in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = PercentEncoding.decode(piece) else { return nil }
            segments.append(decoded)
        }
        return segments
    }
}

extension String {
    func splitOnce(at separator: Character) -> (Substring, Substring?) {
        guard let position = firstIndex(of: separator) else { return (self[...], nil) }
        return (self[..<position], self[index(after: position)...])
    }
}
