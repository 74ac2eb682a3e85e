/// Says that an operation is answered by asking another system each time, and for how long its answers may be used again.
///
/// The host calls ``Adapter/handle(_:)-(Call)`` once for all who ask the same at once, keeps the answer by operation and
/// input, and serves the last good one where the other system fails. Such an operation reads, and its answer depends on
/// its input and on that system alone: it is called without a caller and with an anonymous caller's view of the records. Of
/// an upstream that is called in its callers' names (`portal`, `exchange`) the answers belong to one sign-in of one
/// caller, who is in the call, and go with it.
///
/// What the operation throws decides: an ``UpstreamFailure``, a ``MirrorRefusal``, `upstream.failed`, `upstream.timeout`
/// and `server.overloaded` are failures of the other system, any other ``PorticoError`` is its answer to the caller.
public struct CallThrough: Sendable, Equatable {
    /// The other system, by the name that errors give it.
    public let upstream: UpstreamName
    /// Up to this age an answer is used again without asking.
    public var freshFor: Duration
    /// Up to this age the last good answer is served where the other system fails.
    public var staleFor: Duration
    /// The time that a caller waits where there is a last good answer; then that is served.
    public var waitFor: Duration
    /// Answers that are kept at most; the least recently used go first.
    public var keptAnswers: Int
    /// Bytes that kept answers have at most, about. One that has more than an eighth of it is not kept.
    public var keptBytes: Int

    /// Creates a declaration with these values.
    public init(
        to upstream: UpstreamName, freshFor: Duration = .seconds(300), staleFor: Duration = .seconds(7 * 86_400),
        waitFor: Duration = .seconds(2), keptAnswers: Int = 10_000, keptBytes: Int = 16 << 20
    ) {
        self.upstream = upstream
        self.freshFor = freshFor
        self.staleFor = staleFor
        self.waitFor = waitFor
        self.keptAnswers = keptAnswers
        self.keptBytes = keptBytes
    }
}
