import AdapterKit
import Identity
import RecordStorage
import Synchronization

/// A time that stands still until a test moves it.
final class TestClock: WallClock {
    private let time = Mutex(WireDate(secondsSince1970: 1_800_000_000))

    func now() -> WireDate { time.withLock { $0 } }

    func advance(_ seconds: Double) {
        time.withLock { $0 = WireDate(secondsSince1970: $0.secondsSince1970 + seconds) }
    }
}

/// The same bytes in every run.
final class SeededRandomness: Randomness {
    private let random: Mutex<SeededRandom>

    init(_ seed: UInt64 = 1) { random = Mutex(SeededRandom(seed: seed)) }

    func bytes(_ count: Int) -> [UInt8] {
        random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) } }
    }
}

/// Every line that was logged, as text.
final class TestLog: Sendable {
    private let lines = Mutex<[String]>([])

    var log: Log {
        Log { message in
            self.lines.withLock { $0.append("\(message.level) \(message.text) \(message.values)") }
        }
    }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}

/// An identity over a store in memory, with an account `alice` and a cheap hash.
struct IdentityFixture {
    static let password = Secret("correct horse battery")
    static let home = ClientAddress("192.0.2.1")

    let store: WatchedStore
    let clock: TestClock
    let log = TestLog()
    let configuration: IdentityConfiguration
    let identity: Identity
    let alice: Account

    init(
        providers: [ProviderSetup] = [], _ adjust: (inout IdentityConfiguration) -> Void = { _ in }
    ) async throws {
        var configuration = IdentityConfiguration()
        configuration.passwords.scrypt = ScryptParameters(logRounds: 10, blockSize: 1, parallelism: 1)!
        configuration.basic.enabled = true
        // Of real time: a machine that stands still for a while refuses no sign-in of a test.
        configuration.passwords.longestWait = .seconds(3_600)
        adjust(&configuration)
        self.configuration = configuration
        store = WatchedStore()
        clock = TestClock()
        try await store.install(Identity.collections())
        identity = try await Identity(
            store: store, configuration: configuration, clock: clock, randomness: SeededRandomness(),
            providers: providers,
            log: log.log)
        alice = try await identity.administration.addAccount(
            NewAccount("Alice", roles: ["member"], password: Self.password), by: .system)
        _ = store.takeOperations()
    }

    func signIn(_ name: String = "alice", _ password: Secret = password, from address: ClientAddress = home)
        async throws -> SignIn
    {
        try await identity.signIn(name, password, from: address)
    }
}

/// The code of the error that `body` throws; nil where it throws none.
func code(_ body: () async throws -> Void) async -> ErrorCode? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? PorticoError)?.code
    }
}
