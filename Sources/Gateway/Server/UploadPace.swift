import AdapterKit

/// `http.limits.readRate`: how fast a body has to come at least. A little every now and then keeps a connection from
/// being idle, and would hold its request's place until the deadline.
struct UploadPace: Sendable {
    /// So long nothing is asked of anybody.
    static let idleTimeout = Duration.seconds(5)

    /// Bytes a second.
    let rate: Int

    /// Throws `request.timeout`. A body that is whole came fast enough.
    func check(_ received: Int, of announced: Int?, after elapsed: Duration) throws(PorticoError) {
        guard elapsed > Self.idleTimeout, received != announced else { return }
        let least = Double(rate) * ((elapsed - Self.idleTimeout) / .seconds(1))
        guard Double(received) < least else { return }
        throw PorticoError(.requestTimeout, "The body comes too slowly.")
    }
}
