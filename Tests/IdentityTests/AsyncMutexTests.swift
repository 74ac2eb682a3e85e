import AdapterKit
import Identity
import Synchronization
import Testing

@Suite struct AsyncMutexTests {
    /// Who was inside, and whether ever two at once.
    private final class Section: Sendable {
        private let state = Mutex((order: [Int](), inside: 0, crowded: false))

        func visit(_ number: Int) async {
            state.withLock {
                $0.inside += 1
                $0.crowded = $0.crowded || $0.inside > 1
            }
            for _ in 0..<5 { await Task.yield() }
            state.withLock {
                $0.order.append(number)
                $0.inside -= 1
            }
        }

        var order: [Int] { state.withLock { $0.order } }
        var wasCrowded: Bool { state.withLock { $0.crowded } }
    }

    @Test func `one at a time goes through, though each of them waits inside`() async throws {
        let (mutex, room) = (AsyncMutex(limit: 100), Section())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try await mutex.pass { await room.visit(number) } } }
            try await group.waitForAll()
        }
        #expect(!room.wasCrowded)
        #expect(Set(room.order) == Set(0..<50))
    }

    @Test func `one more than may wait is refused, and the place is free again after an error`() async throws {
        let (mutex, room) = (AsyncMutex(limit: 0), Section())
        let code = await code {
            try await mutex.pass {
                let inner = await IdentityTests.code { try await mutex.pass { await room.visit(1) } }
                #expect(inner == .overloaded)
                throw PorticoError(.storeFull, "")
            }
        }
        #expect(code == .storeFull)
        try await mutex.pass { await room.visit(2) }
        #expect(room.order == [2])
    }
}
