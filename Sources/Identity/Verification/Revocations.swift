import AdapterKit
import Synchronization

/// Who is to be told when a credential stops holding: live streams, which ask for nothing any more.
final class Revocations: Sendable {
    private struct Watcher {
        let authentication: Authentication
        let revoked: @Sendable () -> Void
    }

    private struct State {
        var watchers: [AccountID: [UInt64: Watcher]] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Returns when the credential is revoked, when the task is cancelled, or at once where `holds` says that it has
    /// been already: it is asked after the watch has begun, so nothing slips in between.
    func wait(for authentication: Authentication, holds: () async throws -> Bool) async throws {
        let (stream, signal) = AsyncStream.makeStream(of: Never.self)
        let watch = watch(authentication) { signal.finish() }
        defer { watch.end() }
        guard try await holds() else { return }
        for await _ in stream {}
    }

    /// `revoked` is called when the credential is, from any thread, until the watch ends.
    func watch(_ authentication: Authentication, revoked: @escaping @Sendable () -> Void) -> RevocationWatch {
        let number = add(Watcher(authentication: authentication, revoked: revoked))
        return RevocationWatch(account: authentication.account, number: number, revocations: self)
    }

    /// Those who wait are woken after the lock is gone.
    func revoke(_ account: AccountID, where matches: (Authentication) -> Bool) {
        let affected = state.withLock { state in
            (state.watchers[account] ?? [:]).values.filter { matches($0.authentication) }
        }
        for watcher in affected { watcher.revoked() }
    }

    private func add(_ watcher: Watcher) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.watchers[watcher.authentication.account, default: [:]][state.lastNumber] = watcher
            return state.lastNumber
        }
    }

    fileprivate func remove(_ number: UInt64, of account: AccountID) {
        state.withLock { state in
            state.watchers[account]?[number] = nil
            if state.watchers[account]?.isEmpty == true { state.watchers[account] = nil }
        }
    }

    /// How many wait.
    var count: Int { state.withLock { $0.watchers.values.reduce(0) { $0 + $1.count } } }
}

/// A credential that is watched. Whoever has it ends it.
public struct RevocationWatch: Sendable {
    fileprivate let account: AccountID
    fileprivate let number: UInt64
    fileprivate let revocations: Revocations

    /// The second time nothing happens.
    public func end() { revocations.remove(number, of: account) }
}
