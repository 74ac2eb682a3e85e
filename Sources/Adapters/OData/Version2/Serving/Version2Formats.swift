import AdapterKit

/// Which format an answer has and a body is in.
enum Version2Formats {
    /// The first is for those who ask for none.
    static let all: [any Version2Format] = [Atom(), Version2JSONFormat()]

    /// By `$format`, or else by `Accept`. Throws `request.notAcceptable` where neither names one that there is.
    static func answer(format: String?, accept: String?) throws(PorticoError) -> any Version2Format {
        if let chosen = chosen(format: format, accept: accept) { return chosen }
        throw PorticoError(
            .notAcceptable, "The answer can be had as application/atom+xml and as application/json.",
            target: format == nil ? nil : "$format")
    }

    /// The same for failures, which are told in some format in any case.
    static func likeliest(format: String?, accept: String?) -> any Version2Format {
        chosen(format: format, accept: accept) ?? chosen(format: nil, accept: accept) ?? all[0]
    }

    /// Of a request's body. Throws `request.unsupportedMediaType`.
    static func body(_ contentType: String?) throws(PorticoError) -> any Version2Format {
        let type = mediaType(contentType ?? "")
        guard let format = all.first(where: { $0.takes(type) }) else {
            throw PorticoError(
                .unsupportedMediaType, "The body can be sent as application/atom+xml and as application/json.")
        }
        return format
    }

    private static func chosen(format: String?, accept: String?) -> (any Version2Format)? {
        if let format {
            let name = mediaType(format)
            return all.first { $0.isNamed(name) || $0.takes(name) }
        }
        guard let accept, !accept.isEmpty else { return all[0] }
        let ranges = accept.split(separator: ",").map { (type: mediaType($0), weight: weight($0)) }
            .filter { $0.weight > 0 }.sorted { $0.weight > $1.weight }
        for range in ranges {
            if ["*/*", "application/*"].contains(range.type) { return all[0] }
            if let format = all.first(where: { $0.takes(range.type) }) { return format }
        }
        return nil
    }

    private static func mediaType(_ text: some StringProtocol) -> String {
        String(text.prefix { $0 != ";" }.filter { $0 != " " }).lowercased()
    }

    private static func weight(_ range: Substring) -> Double {
        for piece in range.split(separator: ";").dropFirst() {
            let text = piece.filter { $0 != " " }
            if text.hasPrefix("q=") { return Double(text.dropFirst(2)) ?? 0 }
        }
        return 1
    }
}
