/// What the door saw of a head that it let in, so that nobody behind it looks the same fields through again.
struct ValidatedHead {
    let host: String
    /// The connection ends with this request.
    let isLast: Bool
    /// Whether the request may be held until it is whole: its body is short and sent as it is, the connection goes on,
    /// and its client waits for no word before it sends.
    let mayBeHeld: Bool
    /// The body comes in chunks.
    var isChunked = false
}
