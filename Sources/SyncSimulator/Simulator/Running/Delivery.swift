import SyncDevice

/// What travels, or is due, in a run.
enum Event {
    case request(Delivery)
    case answer(Delivery, Reply)
    /// The device gives up waiting.
    case timeout(Delivery)
    case wake(device: Int, process: Int)
    case restart(device: Int)
    /// A screen asks for a live stream, from the last event on that it got.
    case open(watcher: Int, connection: Int, lastEvent: String?)
    case live(watcher: Int, connection: Int, [UInt8])
    /// The screen's checkpoint is worth nothing any more.
    case startOver(watcher: Int, connection: Int)
    /// The screen notices that its connection is gone.
    case cut(watcher: Int, connection: Int)
}

/// One request of one process of a device, as bytes of its format.
struct Delivery {
    enum Door: String {
        case pull
        case push
    }

    let device: Int
    let process: Int
    let number: RequestNumber
    let door: Door
    let body: [UInt8]
}

/// What the server answers: a status, and bytes of the device's format.
struct Reply {
    let status: Status
    let body: [UInt8]
    /// The history in which it was answered.
    let epoch: Int

    enum Status: String {
        case done
        case fetchAgain
        case unauthorized
        case unavailable
        case refused
    }
}
