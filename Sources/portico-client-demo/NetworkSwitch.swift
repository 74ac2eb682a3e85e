import Client
import Synchronization

/// A network that a key turns off: what is under way is cut, and what comes after finds nothing.
final class NetworkSwitch: Transport {
    private let transport = URLSessionTransport()
    private let isOn = Mutex(true)

    var isOnline: Bool { isOn.withLock { $0 } }

    func turn(on: Bool) { isOn.withLock { $0 = on } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard isOnline else { throw TransportError.unreachable("the network is switched off") }
        let answer = try await transport.send(request)
        guard isOnline else { throw TransportError.unreachable("the network was switched off") }
        return answer
    }
}
