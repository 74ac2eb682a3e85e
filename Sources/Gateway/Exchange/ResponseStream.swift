import NIOCore

/// A body that comes piece by piece, for as long as its connection lasts.
protocol ResponseStream: Sendable {
    /// The head is written. From now on the stream may also write body parts itself, on the channel's event loop, between
    /// two calls of ``next()``'s caller.
    func begin(on channel: any BodyChannel)

    /// The next piece, when there is one; nil at the end. One caller at a time. Throwing breaks the connection off, so
    /// that nobody takes what was sent for the whole.
    func next() async throws -> ByteBuffer?

    /// Whether it goes on until somebody ends it, as events do. A client that closes its side then has left; one that
    /// waits for an end may only have nothing more to send.
    var isEndless: Bool { get }

    /// What it wrote itself so far, in bytes of the body.
    var bytesBeside: Int { get }

    /// Nobody will ask again: the body was written, or the connection is gone. May be called twice and from any thread,
    /// and makes a ``next()`` under way return.
    func end()
}

extension ResponseStream {
    func begin(on channel: any BodyChannel) {}

    var isEndless: Bool { false }

    var bytesBeside: Int { 0 }
}
