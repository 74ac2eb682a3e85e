import AdapterKit
import Synchronization

/// Audit entries that the store had no room for. What they tell of changed nothing in the store, so it need not wait.
///
/// They are kept in memory and written when the store takes writes again, by ``flush()`` or before the next entry. Each
/// says when it was postponed. Beyond ``maximum`` the oldest is dropped, and the number of those is written.
final class PostponedEvents: Sendable {
    static let maximum = 1_000

    private struct State {
        var events: [AuditEvent] = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let writes: AuditedWrites
    private let clock: any WallClock
    private let kind: AuditEvent.Kind

    /// What is dropped is counted as of `kind`.
    init(_ kind: AuditEvent.Kind, writes: AuditedWrites, clock: any WallClock) {
        self.kind = kind
        self.writes = writes
        self.clock = clock
    }

    /// Returns when they are durable, or postponed because the store is full. Throws what else a write throws.
    func record(_ events: [AuditEvent]) async throws {
        let earlier = state.withLock { state in
            defer { state = State() }
            return state
        }
        let lost = earlier.dropped > 0 ? [AuditEvent(kind, actor: "", detail: "\(earlier.dropped) dropped")] : []
        let all = lost + earlier.events + events
        guard !all.isEmpty else { return }
        do {
            try await writes.write(author: events.first?.actor ?? "") { AuditedChange([], all, result: ()) }
        } catch let error as PorticoError where error.code == .storeFull {
            let now = clock.now()
            keep(earlier, adding: events.map { $0.postponed(at: now) })
        } catch {
            keep(earlier, adding: [])
            throw error
        }
    }

    func flush() async throws { try await record([]) }

    private func keep(_ earlier: State, adding events: [AuditEvent]) {
        state.withLock { state in
            let all = earlier.events + state.events + events
            state.events = Array(all.suffix(Self.maximum))
            state.dropped += earlier.dropped + all.count - state.events.count
        }
    }
}

extension AuditEvent {
    /// The entry has the time of its writing.
    fileprivate func postponed(at instant: WireDate) -> AuditEvent {
        let words = [detail, instant.rfc3339.map { "at \($0)" } ?? ""].filter { !$0.isEmpty }
        return AuditEvent(
            kind, actor: actor, subject: subject, address: address, detail: words.joined(separator: ", "))
    }
}
