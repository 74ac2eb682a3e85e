import AdapterKit
import ODataLanguage

/// Why a query cannot be answered, and where in the raw query text it says so.
public struct QueryProblem: Error, Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The caller's mistake: 400.
        case invalid
        /// What OData has and this service does not: 501.
        case notSupported
        /// Too large: 400 with the limit named.
        case limitExceeded
    }

    public let kind: Kind
    /// Safe to show.
    public let message: String
    public let range: SourceRange?

    public init(_ message: String, at range: SourceRange? = nil, kind: Kind = .invalid) {
        self.message = message
        self.range = range
        self.kind = kind
    }
}
