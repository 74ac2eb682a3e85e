import SyncDevice

/// What travels, or is due, in a run.
enum Event {
    case request(Delivery)
    case answer(Delivery, Reply)
    /// The device gives up waiting.
    case timeout(Delivery)
    case wake(device: Int, process: Int)
    case restart(device: Int)
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
