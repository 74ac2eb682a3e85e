/// The age of an answer's rows whose truth is in another system.
public struct RecordAge: Sendable, Equatable {
    /// When the other system had them.
    public let asOf: WireDate
    /// In whole seconds, for `Age` (RFC 9111, section 5.1).
    public let seconds: Int
    /// `Cache-Status` (RFC 9211).
    public let cacheStatus: String

    /// Creates an age with these values.
    public init(asOf: WireDate, seconds: Int, cacheStatus: String) {
        self.asOf = asOf
        self.seconds = seconds
        self.cacheStatus = cacheStatus
    }
}

/// Tells a mount how old the mirrored records are that it answers with (``HTTPMount/tellsAge``).
public protocol RecordAges: Sendable {
    /// The age of the oldest of those entities that are mirrors; nil: none of them is. Rows that are not fresh are refreshed first,
    /// as for any read over HTTP, for at most ``MirrorSettings/waitFor``.
    ///
    /// Throws `adapter.unavailable`, naming the upstream, where rows are too old to be served or were never fetched.
    func age(of entities: Set<EntityName>) async throws -> RecordAge?
}

/// For adapters without mirrors.
public struct NoRecordAges: RecordAges {
    /// Creates the value; it has no state.
    public init() {}

    public func age(of entities: Set<EntityName>) async throws -> RecordAge? { nil }
}
