import AdapterKit
import Foundation

/// Makes and checks password hashes on its own threads, in fair shares.
struct PasswordHasher: Sendable {
    let parameters: ScryptParameters
    private let turns: FairScheduler
    private let threads: HashingThreadPool
    private let randomness: any Randomness
    /// A hash at today's cost that no password has: what is compared where there is no account, so that the answer
    /// takes the same time.
    let dummy: PasswordHash

    init(_ configuration: IdentityConfiguration.Passwords, randomness: any Randomness) {
        parameters = configuration.scrypt
        let count = configuration.hashingThreads ?? max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
        turns = FairScheduler(
            FairQueue.Limits(
                slots: count, waiting: configuration.waitingHashes, longestWait: configuration.longestWait))
        threads = HashingThreadPool(threads: count, limit: configuration.waitingHashes)
        self.randomness = randomness
        dummy = PasswordHash(
            parameters: configuration.scrypt, salt: randomness.bytes(PasswordHash.saltLength),
            hash: randomness.bytes(PasswordHash.hashLength))
    }

    func hash(_ password: Secret, for share: PasswordShare) async throws -> PasswordHash {
        let salt = randomness.bytes(PasswordHash.saltLength)
        return try await turns.run(for: share) {
            try await threads.run { [parameters] in
                try Scrypt.hash(password, salt: salt, parameters: parameters)
            }
        }
    }

    /// Costs the same for every password and answer.
    func verify(_ password: Secret, against stored: PasswordHash?, for share: PasswordShare) async throws -> Bool {
        let isPossible = PasswordPolicy.isPossible(password)
        let candidate = isPossible ? password : Secret("\u{0}")
        let matches = try await turns.run(for: share) {
            try await threads.run { [dummy] in try Scrypt.verify(candidate, against: stored ?? dummy) }
        }
        return matches && isPossible && stored != nil
    }
}
