import AdapterKit

/// What a caller would like (`Prefer`, RFC 7240; Protocol 4.01, section 8.2.8). What is not known is passed over.
struct Preferences: Sendable, Equatable {
    enum Returned: String, Sendable {
        case minimal, representation
    }

    var returned: Returned?
    var maximumPageSize: Int?
    /// As OData 4.0 calls it.
    private var pagesWithPrefix = false
    var respondsAsynchronously = false
    /// Nil where nothing is said, which means another thing in each of the batch formats.
    var continuesOnError: Bool?
    var tracksChanges = false
    /// As OData 4.0 calls it.
    private var tracksWithPrefix = false
    /// `omit-values`, which OData 4.0 has with its prefix only.
    private var omitted: String?
    private var omitsWithPrefix = false
    /// `include-annotations` as it was sent. Answers have none, which suits every wish.
    private var annotations: String?

    init(_ field: String?) {
        for piece in Self.pieces(field ?? "") {
            let pair = piece.split(separator: "=", maxSplits: 1).map { part in
                String(part.filter { $0 != " " && $0 != "\"" })
            }
            guard var name = pair.first?.lowercased() else { continue }
            let hasPrefix = name.hasPrefix("odata.")
            // Cannot trap: it begins with that.
            if hasPrefix { name.removeFirst("odata.".count) }
            let value = pair.count > 1 ? pair[1] : nil
            switch name {
            case "return": returned = returned ?? value.flatMap { Returned(rawValue: $0.lowercased()) }
            case "maxpagesize":
                (maximumPageSize, pagesWithPrefix) = (
                    value.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }, hasPrefix
                )
            case "respond-async": respondsAsynchronously = true
            case "continue-on-error": continuesOnError = value != "false"
            case "track-changes": (tracksChanges, tracksWithPrefix) = (true, hasPrefix)
            case "omit-values": (omitted, omitsWithPrefix) = (value?.lowercased(), hasPrefix)
            case "include-annotations":
                annotations = value.map { "\(hasPrefix ? "odata." : "")include-annotations=\"\($0)\"" }
            default: continue
            }
        }
    }

    /// Separated by commas and semicolons that are not within quotes.
    private static func pieces(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return !isQuoted && (character == "," || character == ";")
        }
    }

    /// Which properties are left out.
    func omitted(version: String) -> OmittedValues? {
        guard version != "4.0" || omitsWithPrefix else { return nil }
        return omitted.flatMap { OmittedValues(rawValue: $0) }
    }

    /// What `Preference-Applied` says of an answer that was read in this format.
    func applied(_ format: ResponseFormat, pageSize: Int? = nil, tracked: Bool = false) -> MountHeaders {
        var names: [String] = []
        if maximumPageSize != nil, let pageSize {
            names.append("\(pagesWithPrefix ? "odata." : "")maxpagesize=\(pageSize)")
        }
        if let omitted = format.omitted {
            names.append("\(omitsWithPrefix ? "odata." : "")omit-values=\(omitted.rawValue)")
        }
        if tracked, tracksChanges { names.append(tracksWithPrefix ? "odata.track-changes" : "track-changes") }
        if let annotations { names.append(annotations) }
        return names.isEmpty ? [:] : ["Preference-Applied": names.joined(separator: ", ")]
    }
}
