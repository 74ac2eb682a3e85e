/// Counts what the chunks of a body take on the connection beside the body itself: sizes, extensions and line ends.
///
/// The decoder drops extensions without a limit (RFC 9112, section 7.1.1 asks for one). Only readings that begin and end
/// within the same body are counted, so each body has one reading more.
struct ChunkFraming {
    /// Bytes that any body may take.
    static let allowance = 16 << 10
    /// Further bytes for each byte of the body. One that is sent alone takes five.
    static let perByte = 8

    private var isOpen = false
    private var isWithinBody = false
    private var body = 0
    private var bodyBefore = 0
    private var framing = 0

    mutating func bodyBegan(isChunked: Bool) {
        self = ChunkFraming()
        isOpen = isChunked
    }

    mutating func bodyArrived(_ bytes: Int) { body += bytes }

    mutating func bodyEnded() { self = ChunkFraming() }

    mutating func readingBegan() {
        isWithinBody = isOpen
        bodyBefore = body
    }

    /// - Parameter bytes: what the decoder was given in this reading.
    /// - Returns: false where the chunks take more than is allowed.
    mutating func readingEnded(_ bytes: Int) -> Bool {
        guard isWithinBody else { return true }
        framing += bytes - (body - bodyBefore)
        return framing <= Self.allowance + Self.perByte * body
    }
}
