import AdapterKit

/// The clock, the store and the settings that the parts of identity share.
struct IdentityContext: Sendable {
    private let current: CurrentIdentityConfiguration
    let records: IdentityRecords
    let accounts: AccountDirectory
    let writes: AuditedWrites
    let refusals: RefusalRecorder
    /// Events of credentials that every request carries: a full store does not refuse callers that only read.
    let verifications: PostponedEvents
    let cache: CredentialCache
    let hasher: PasswordHasher
    let clock: any WallClock
    let randomness: any Randomness
    let log: Log

    init(
        _ configuration: IdentityConfiguration, records: IdentityRecords, clock: any WallClock,
        randomness: any Randomness, log: Log
    ) {
        current = CurrentIdentityConfiguration(configuration)
        self.records = records
        accounts = AccountDirectory(records: records)
        writes = AuditedWrites(records, clock: clock, waiting: configuration.waitingChanges)
        refusals = RefusalRecorder(perHour: configuration.auditedRefusalsPerHour, writes: writes, clock: clock)
        verifications = PostponedEvents(.signInAccepted, writes: writes, clock: clock)
        cache = CredentialCache(configuration, clock: clock, randomness: randomness)
        hasher = PasswordHasher(configuration.passwords, randomness: randomness)
        self.clock = clock
        self.randomness = randomness
        self.log = log
    }

    /// The present configuration. Values that belong together are read once.
    var configuration: IdentityConfiguration { current.value }

    /// The longest that an access token may live which was issued since the start.
    var longestAccessLifetime: Duration { current.longestAccessLifetime }

    func use(_ configuration: IdentityConfiguration) {
        current.replace(with: configuration)
        refusals.use(perHour: configuration.auditedRefusalsPerHour)
        cache.use(idle: configuration.sessions.idle)
        hasher.use(longestWait: configuration.passwords.longestWait)
    }

    /// The one answer to every wrong name, password, token or state of an account.
    static let refusal = PorticoError(.credentialsInvalid, "The credentials are not valid.")
}
