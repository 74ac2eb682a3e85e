import AdapterKit

/// What a caller would like (`Prefer`, RFC 7240; Protocol 4.01, section 8.2.8). What is not known is passed over.
struct Preferences: Sendable, Equatable {
    enum Returned: String, Sendable {
        case minimal, representation
    }

    var returned: Returned?
    var maximumPageSize: Int?
    var respondsAsynchronously = false
    var continuesOnError = false
    var tracksChanges = false

    init(_ field: String?) {
        for piece in (field ?? "").split(whereSeparator: { $0 == "," || $0 == ";" }) {
            let pair = piece.split(separator: "=", maxSplits: 1).map { part in
                String(part.filter { $0 != " " && $0 != "\"" })
            }
            guard var name = pair.first?.lowercased() else { continue }
            if name.hasPrefix("odata.") { name.removeFirst("odata.".count) }
            let value = pair.count > 1 ? pair[1] : nil
            switch name {
            case "return": returned = returned ?? value.flatMap { Returned(rawValue: $0.lowercased()) }
            case "maxpagesize": maximumPageSize = value.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
            case "respond-async": respondsAsynchronously = true
            case "continue-on-error": continuesOnError = value != "false"
            case "track-changes": tracksChanges = true
            default: continue
            }
        }
    }
}
