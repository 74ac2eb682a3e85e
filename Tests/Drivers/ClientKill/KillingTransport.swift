import Client
import Foundation
import Synchronization

/// Ends the process by SIGKILL at one of its requests.
final class KillingTransport: Transport {
    private enum Point: CaseIterable {
        case before
        /// The server may have acted; the device does not know it.
        case during
        case after
        /// While the answer is applied.
        case later
    }

    private let transport = URLSessionTransport()
    private let point: Point
    private let left: Mutex<Int>
    private let pause: UInt64

    init(using random: inout SeededRandom) {
        point = Point.allCases.randomElement(using: &random) ?? .before
        left = Mutex(Int.random(in: 1...10, using: &random))
        pause = UInt64.random(in: 0...8_000, using: &random)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        // Questions for news are no points of interest, and come when they like.
        guard !request.url.contains("/live"), isDue() else { return try await transport.send(request) }
        if point == .before { end() }
        if point == .during { endSoon() }
        let answer = try await transport.send(request)
        if point == .after { end() }
        if point == .later { endSoon() }
        return answer
    }

    private func isDue() -> Bool {
        left.withLock { left in
            left -= 1
            return left == 0
        }
    }

    private func endSoon() {
        let pause = pause
        Thread.detachNewThread {
            usleep(UInt32(pause))
            kill(getpid(), SIGKILL)
        }
    }

    private func end() {
        kill(getpid(), SIGKILL)
    }
}
