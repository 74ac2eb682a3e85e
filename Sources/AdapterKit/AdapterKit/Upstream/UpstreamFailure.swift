/// Why there is no answer of another system. An answer that tells of an error is an answer.
public struct UpstreamFailure: Error, Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        /// The configuration, or the network that a name leads to, forbids to ask there.
        case destinationRefused
        case redirectRefused
        /// No such name, nobody who listens, no trust in the certificate.
        case unreachable
        /// The connection ended before the answer did, or the answer is not HTTP.
        case broken
        case timedOut
        case answerTooLarge
        /// More calls under way than this upstream may have.
        case overloaded
        /// It failed too often lately, and is not asked for a while.
        case resting
        case cancelled
    }

    public let upstream: UpstreamName
    public let kind: Kind
    /// For operators; it names no secret.
    public let detail: String

    public init(_ kind: Kind, of upstream: UpstreamName, detail: String = "") {
        self.kind = kind
        self.upstream = upstream
        self.detail = detail
    }

    /// As a caller may see it: which system it was, not where it is.
    public var asError: PorticoError {
        let detail = "upstream \(upstream), \(kind.rawValue): \(self.detail)"
        switch kind {
        case .timedOut:
            return PorticoError(.upstreamTimeout, "The system \(upstream) did not answer in time.", logDetail: detail)
        case .overloaded:
            return PorticoError(
                .overloaded, "Too many calls of the system \(upstream) are under way.", retryAfter: 1, logDetail: detail
            )
        case .resting:
            return PorticoError(
                .upstreamFailed, "The system \(upstream) does not answer at the moment.", logDetail: detail)
        case .cancelled:
            return PorticoError(.deadlineExceeded, "The request took too long.", logDetail: detail)
        default:
            return PorticoError(.upstreamFailed, "The system \(upstream) could not be asked.", logDetail: detail)
        }
    }
}
