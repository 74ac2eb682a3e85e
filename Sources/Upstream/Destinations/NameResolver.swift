/// From a host's name to its addresses. A port, so that a test decides what a name means.
public protocol NameResolver: Sendable {
    /// In the order in which they are to be tried; empty where the name is unknown. Ends with the task that waits.
    func addresses(of host: String) async throws(CancellationError) -> [IPAddress]
}
