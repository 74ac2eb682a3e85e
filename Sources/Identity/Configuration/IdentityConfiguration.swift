import AdapterKit
import Synchronization

/// Lifetimes and limits of everything that identity does. The defaults are those of the configuration file.
public struct IdentityConfiguration: Sendable, Equatable {
    public var sessions = Sessions()
    public var tokens = Tokens()
    public var basic = Basic()
    public var passwords = Passwords()
    public var backoff = LoginBackoff.Limits()
    /// Verified credentials that are kept in memory.
    public var verifiedCredentials = 20_000
    /// For how long one of them is believed without being read again.
    public var verifiedFor = Duration.seconds(5 * 60)
    /// Audited changes that may wait for their turn; more are refused with `server.overloaded`.
    public var waitingChanges = 1024
    /// Refused sign-ins an hour that have an audit entry of their own; of further ones the number is written, once a
    /// minute. Callers without an account cause no other entries.
    public var auditedRefusalsPerHour = 600
    /// The time for which audit entries are kept; nil: for ever.
    public var auditRetention: Duration?

    public init() {}

    public struct Sessions: Sendable, Equatable {
        /// From sign-in to the end of the cookie, however much it is used.
        public var lifetime = Duration.seconds(8 * 3600)
        /// From the last use to the end of the cookie.
        public var idle = Duration.seconds(8 * 3600)
        /// At one more, the account's oldest session ends.
        public var perAccount = 100

        public init() {}
    }

    public struct Tokens: Sendable, Equatable {
        /// The issuer: the `iss` of every access token.
        public var issuer = "portico"
        /// For whom: the `aud` of every access token.
        public var audience = "portico"
        public var accessLifetime = Duration.seconds(15 * 60)
        /// From a refresh token's issue to its end.
        public var refreshLifetime = Duration.seconds(30 * 86_400)
        /// From sign-in to the end of the whole family, however often it is refreshed.
        public var familyLifetime = Duration.seconds(180 * 86_400)
        /// After how long a new key signs by itself.
        public var keyLifetime = Duration.seconds(90 * 86_400)

        public init() {}
    }

    public struct Basic: Sendable, Equatable {
        public var enabled = false
        /// The time for which a verified name and password are believed without hashing again.
        public var rememberedFor = Duration.seconds(5 * 60)

        public init() {}
    }

    public struct Passwords: Sendable, Equatable {
        public var scrypt = ScryptParameters.recommended
        /// In Unicode scalars (NIST SP 800-63B, section 5.1.1.2).
        public var minimumLength = 8
        /// Hashes that run at once; nil: on half of the cores, at least one.
        public var hashingThreads: Int?
        /// Passwords that may wait for a thread; more are refused with `server.overloaded`.
        public var waitingHashes = 128
        /// The longest wait of one for its turn; one that would wait longer is refused at once with `server.overloaded`. Shorter
        /// than a request's deadline.
        public var longestWait = Duration.seconds(5)

        public init() {}
    }
}

/// The configuration that is used now; another one takes its place while identity works.
final class CurrentIdentityConfiguration: Sendable {
    private struct State {
        var value: IdentityConfiguration
        var longestAccessLifetime: Duration
    }

    private let state: Mutex<State>

    init(_ configuration: IdentityConfiguration) {
        state = Mutex(State(value: configuration, longestAccessLifetime: configuration.tokens.accessLifetime))
    }

    var value: IdentityConfiguration { state.withLock { $0.value } }

    /// The longest that an access token may live which was issued since the start.
    var longestAccessLifetime: Duration { state.withLock { $0.longestAccessLifetime } }

    func replace(with other: IdentityConfiguration) {
        state.withLock { state in
            state.value = other
            state.longestAccessLifetime = max(state.longestAccessLifetime, other.tokens.accessLifetime)
        }
    }
}

/// The cost of one password hash (RFC 7914, section 2). Memory is `128 × blockSize × 2^logRounds` bytes.
public struct ScryptParameters: Sendable, Equatable {
    public let logRounds: Int
    public let blockSize: Int
    public let parallelism: Int

    /// Nil outside of what may be stored: a hash brought in from elsewhere must not cost more than
    /// ``maximumMemory``, and not less than any setting that was ever sufficient.
    public init?(logRounds: Int, blockSize: Int, parallelism: Int) {
        guard (Self.leastLogRounds...20).contains(logRounds), (1...32).contains(blockSize),
            (1...16).contains(parallelism), 128 * blockSize << logRounds <= Self.maximumMemory
        else { return nil }
        self.init(unchecked: logRounds, blockSize, parallelism)
    }

    private init(unchecked logRounds: Int, _ blockSize: Int, _ parallelism: Int) {
        self.logRounds = logRounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// In bytes.
    public static let maximumMemory = 256 << 20

    /// Rounds, as a logarithm, that a stored hash has at least.
    public static let leastLogRounds = 10

    /// 32 MiB, and as hard to attack as 2^17/8/1 by OWASP's table. docs/decisions/0051.
    public static let recommended = ScryptParameters(unchecked: 15, 8, 3)

    /// Nil where that may not be stored.
    public func with(logRounds: Int) -> ScryptParameters? {
        ScryptParameters(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism)
    }
}
