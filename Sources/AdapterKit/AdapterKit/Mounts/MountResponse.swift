/// What an adapter answers at a door.
public struct MountResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Piece by piece, for as long as the caller reads.
        case pieces(any MountResponseBody)
    }

    /// 200 to 599.
    public var status: Int
    /// Without those that belong to the connection (`Content-Length`, `Transfer-Encoding`, `Date`, …).
    public var headers: MountHeaders
    public var body: Body

    public init(_ status: Int, headers: MountHeaders = [:], body: [UInt8] = []) {
        self.init(status, headers: headers, body: .bytes(body))
    }

    public init(_ status: Int, headers: MountHeaders, body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// A body that is made while it is sent.
public protocol MountResponseBody: Sendable {
    /// The next piece; nil at the end. One caller at a time. Throwing ends the connection in the middle of the body, so
    /// that nobody takes what was sent for the whole.
    func next() async throws -> [UInt8]?

    /// Nobody asks any more. May be called twice, and from any thread.
    func end()
}
