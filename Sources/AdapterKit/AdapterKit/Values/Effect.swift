/// Whether an operation changes anything. CSRF checks, retries and caching go by it, not by the HTTP method.
public enum Effect: Sendable, Equatable {
    /// It changes nothing that a caller could observe.
    case reads
    /// It may change something.
    case writes
}
