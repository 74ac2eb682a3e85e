/// A body that is made while it is sent.
public protocol ByteStream: Sendable {
    /// The next piece; nil at the end. One caller at a time. Throwing ends the connection in the middle of the body, so
    /// that the receiver does not take a part for the whole.
    func next() async throws -> [UInt8]?

    /// The body is no longer wanted. May be called twice, and from any thread.
    func cancel()
}
