import AdapterKit

/// How large a filter may be. A store refuses what is larger before it compiles it.
public struct FilterLimits: Sendable, Equatable {
    /// Levels of `all`, `any`, `not` and `related` within each other.
    public let depth: Int
    /// Conditions and connectives in all.
    public let terms: Int
    /// Values of all `oneOf` together, and words of all searches.
    public let values: Int

    public static let standard = FilterLimits(depth: 32, terms: 512, values: 2048)

    public init(depth: Int, terms: Int, values: Int) {
        self.depth = depth
        self.terms = terms
        self.values = values
    }

    /// Throws `request.limitExceeded`.
    public func check(_ filter: Filter) throws(PorticoError) {
        var size = FilterSize(limits: self)
        try size.add(filter, depth: 1)
    }
}

private struct FilterSize {
    let limits: FilterLimits
    var terms = 0
    var values = 0

    mutating func add(_ filter: Filter, depth: Int) throws(PorticoError) {
        terms += 1
        guard depth <= limits.depth else { throw Self.excess("levels", limits.depth) }
        guard terms <= limits.terms else { throw Self.excess("conditions", limits.terms) }
        switch filter {
        case .oneOf(_, let listed): values += listed.count
        case .search(let words): values += words.count
        case .related(_, _, let inner), .not(let inner): try add(inner, depth: depth + 1)
        case .all(let parts), .any(let parts):
            for part in parts { try add(part, depth: depth + 1) }
        default: break
        }
        guard values <= limits.values else { throw Self.excess("values", limits.values) }
    }

    static func excess(_ what: String, _ limit: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "A filter has at most \(limit) \(what).", target: "filter")
    }
}
