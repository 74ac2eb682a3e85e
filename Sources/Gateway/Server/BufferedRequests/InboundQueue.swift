import NIOCore
import NIOHTTP1

/// What reaches a connection while one of its requests is being answered, in its order.
struct InboundQueue {
    enum Arrival {
        /// With what the door saw of it, where it is a head.
        case part(HTTPServerRequestPart, ValidatedHead?)
        case event(Any)
        case failure(any Error)
    }

    private var kept: [Arrival] = []
    /// Somebody asked for more to be read. It is not, so that no more is kept than one reading brought.
    var wantsReading = false

    var isEmpty: Bool { kept.isEmpty }

    mutating func keep(_ arrival: Arrival) { kept.append(arrival) }

    mutating func takeFirst() -> Arrival? { kept.isEmpty ? nil : kept.removeFirst() }
}
