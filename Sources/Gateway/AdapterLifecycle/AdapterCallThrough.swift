import AdapterKit
import Identity
import MirrorEngine
import Synchronization

/// An operation of an adapter that another system answers.
struct AdapterCallThrough: Sendable {
    let calls: CallThroughCalls
    /// Where the system is called in the caller's name: whose the answers are; nil: they are the same for all callers.
    let owners: AnswerOwners?
}

/// The sign-ins that answers of other systems belong to. What is kept of one is forgotten when it ends.
final class AnswerOwners: Sendable {
    private final class Watched: Sendable {
        let hasEnded = Mutex(false)
    }

    private let calls: CallThroughCalls
    private let forget: @Sendable (String) -> Void
    private let holds = Mutex<[String: CredentialWatch.Hold]>([:])

    /// `forget`: what is done when a sign-in has ended; nil: its answers are forgotten.
    init(_ calls: CallThroughCalls, forget: (@Sendable (String) -> Void)? = nil) {
        self.calls = calls
        self.forget = forget ?? { calls.forget($0) }
    }

    /// Every minute forgets what sign-ins have that ended by themselves, until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(60))) != nil {
            for owner in holds.withLock({ $0.filter(\.value.isExpired).map(\.key) }) { end(owner) }
        }
    }

    /// The name of a sign-in, which is watched from now on. Throws `auth.required` where it has ended.
    func owner(_ authentication: Authentication, watchedBy credentials: CredentialWatch) async throws -> String {
        let owner = authentication.signIn
        guard !holds.withLock({ $0[owner] != nil }) else { return owner }
        let watched = Watched()
        let hold = try await credentials.watch(authentication) { [weak self] in
            watched.hasEnded.withLock { $0 = true }
            self?.end(owner)
        }
        for other in keep(by: hold, of: owner) { other.end() }
        guard !watched.hasEnded.withLock({ $0 }) else {
            end(owner)
            throw PorticoError(.loginRequired, "This needs a login.")
        }
        return owner
    }

    /// Watches that are not needed: of credentials that ended by themselves, and of sign-ins of which nothing is kept.
    private func keep(by hold: CredentialWatch.Hold, of owner: String) -> [CredentialWatch.Hold] {
        holds.withLock { holds in
            guard holds[owner] == nil else { return [hold] }
            let others = holds.filter { $0.value.isExpired || !calls.holds($0.key) }
            for (other, _) in others {
                holds[other] = nil
                forget(other)
            }
            holds[owner] = hold
            return Array(others.values)
        }
    }

    private func end(_ owner: String) {
        holds.withLock { $0.removeValue(forKey: owner) }?.end()
        forget(owner)
    }
}
