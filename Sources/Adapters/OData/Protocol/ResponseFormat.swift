import AdapterKit

/// How an answer in JSON looks (JSON Format 4.01, section 3): from `$format`, or else from `Accept`.
struct ResponseFormat: Sendable, Equatable {
    enum Metadata: String, Sendable {
        case none, minimal, full
    }

    var metadata = Metadata.minimal
    var isIEEE754Compatible = false
    /// `Prefer: omit-values`; nil: everything is told.
    var omitted: OmittedValues?
    /// `4.0` where the caller knows no later one.
    var version = "4.01"

    var mediaType: String {
        var type = "application/json;odata.metadata=\(metadata.rawValue)"
        if isIEEE754Compatible { type += ";IEEE754Compatible=true" }
        return type
    }

    /// Throws `request.notAcceptable` where JSON is not wanted.
    static func negotiate(format: String?, accept: String?) throws(PorticoError) -> ResponseFormat {
        if let format {
            guard let chosen = read(format == "json" ? "application/json" : format) else {
                throw PorticoError(.notAcceptable, "The answer can be had as application/json.", target: "$format")
            }
            return chosen
        }
        guard let accept, !accept.isEmpty else { return ResponseFormat() }
        let ranges = accept.split(separator: ",").map { String($0) }
            .map { (text: $0, weight: weight($0)) }.filter { $0.weight > 0 }.sorted { $0.weight > $1.weight }
        for range in ranges {
            if let chosen = read(range.text) { return chosen }
        }
        throw PorticoError(.notAcceptable, "The answer can be had as application/json.")
    }

    private static func weight(_ range: String) -> Double {
        for piece in range.split(separator: ";").dropFirst() {
            let text = piece.filter { $0 != " " }
            if text.hasPrefix("q=") { return Double(text.dropFirst(2)) ?? 0 }
        }
        return 1
    }

    /// Nil for another type, and for parameters that no answer of ours can have.
    private static func read(_ text: String) -> ResponseFormat? {
        let parts = text.split(separator: ";").map { $0.filter { $0 != " " } }
        guard let type = parts.first?.lowercased(), ["application/json", "application/*", "*/*"].contains(type) else {
            return nil
        }
        var format = ResponseFormat()
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map { String($0).lowercased() }
            guard pair.count == 2 else { continue }
            switch pair[0] {
            case "odata.metadata", "metadata":
                guard let metadata = Metadata(rawValue: pair[1]) else { return nil }
                format.metadata = metadata
            case "ieee754compatible":
                guard pair[1] == "true" || pair[1] == "false" else { return nil }
                format.isIEEE754Compatible = pair[1] == "true"
            case "charset":
                guard pair[1] == "utf-8" || pair[1] == "\"utf-8\"" else { return nil }
            default: continue
            }
        }
        return format
    }
}
