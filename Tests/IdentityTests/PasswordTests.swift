import AdapterKit
import Identity
import Synchronization
import Testing

@Suite struct PasswordHashTests {
    /// RFC 7914, section 12: the second and the third vector, their first 32 bytes.
    @Test func `the hash is scrypt's`() throws {
        let small = try #require(ScryptParameters(logRounds: 10, blockSize: 8, parallelism: 16))
        let nacl = try Scrypt.hash(Secret("password"), salt: Array("NaCl".utf8), parameters: small)
        #expect(hex(nacl.hash) == "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162")
        let large = try #require(ScryptParameters(logRounds: 14, blockSize: 8, parallelism: 1))
        let salted = try Scrypt.hash(
            Secret("pleaseletmein"), salt: Array("SodiumChloride".utf8), parameters: large)
        #expect(hex(salted.hash) == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    }

    @Test func `a hash is written as a PHC string and read again`() throws {
        let hash = PasswordHash(
            parameters: .recommended, salt: Array(0..<16), hash: (0..<32).map { 255 - $0 })
        let text = hash.text.reveal()
        #expect(text.hasPrefix("$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$"))
        #expect(text.contains("/") || text.contains("+"))
        #expect(PasswordHash(text) == hash)
    }

    @Test(arguments: [
        "", "$", "$scrypt$", "plain", "$argon2id$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=15,r=8$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=30,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=15,r=8,p=99$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=15,r=8,p=3$AA$AAECAwQFBgcICQoLDA0ODw", "$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$",
        "$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw$more",
        "$scrypt$p=3,r=8,ln=15$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
    ])
    func `what is no such string, or costs too much, is refused`(text: String) {
        #expect(PasswordHash(text) == nil)
    }

    @Test(arguments: [
        (15, 8, 3, true), (10, 1, 1, true), (9, 8, 1, false), (20, 2, 1, true), (20, 3, 1, false), (16, 32, 1, true),
        (17, 32, 1, false), (16, 33, 1, false), (15, 0, 1, false), (15, 8, 0, false), (15, 8, 16, true),
        (15, 8, 17, false), (21, 1, 1, false), (.max, .max, .max, false), (-1, -1, -1, false),
    ])
    func `a hash costs no more than 256 MiB, and no less than what was ever enough`(
        rounds: Int, size: Int, parallel: Int, isAllowed: Bool
    ) {
        let parameters = ScryptParameters(logRounds: rounds, blockSize: size, parallelism: parallel)
        #expect((parameters != nil) == isAllowed)
    }

    @Test func `the default is what OWASP counts as sufficient, in 32 MiB`() {
        #expect(ScryptParameters.recommended == ScryptParameters(logRounds: 15, blockSize: 8, parallelism: 3))
        #expect(IdentityConfiguration().passwords.scrypt == .recommended)
    }

    @Test func `a password is hashed again where the setting has risen`() async throws {
        let fixture = try await IdentityFixture()
        func stored() async throws -> String? {
            try await fixture.store.inner.all("accounts").first?["password"].stringValue
        }
        var stronger = fixture.configuration
        stronger.passwords.scrypt = try #require(ScryptParameters(logRounds: 11, blockSize: 2, parallelism: 1))
        let identity = try await Identity(
            store: fixture.store, configuration: stronger, clock: fixture.clock, log: .discarding)
        #expect(try await stored()?.hasPrefix("$scrypt$ln=10,r=1,p=1$") == true)
        _ = try await identity.signIn("alice", IdentityFixture.password, from: IdentityFixture.home)
        #expect(try await stored()?.hasPrefix("$scrypt$ln=11,r=2,p=1$") == true)
        _ = try await identity.signIn("alice", IdentityFixture.password, from: IdentityFixture.home)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

@Suite struct HashingThreadsTests {
    @Test func `never more run at once than there are threads, and all of them run`() async throws {
        let threads = HashingThreadPool(threads: 2)
        let gauge = Gauge()
        let results = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await threads.run {
                        gauge.enter()
                        defer { gauge.leave() }
                        return number
                    }
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(results.count == 200)
        #expect(gauge.most <= 2)
    }

    /// How many are inside, and how many were at most.
    private final class Gauge: Sendable {
        private let state = Mutex((inside: 0, most: 0))

        func enter() { state.withLock { $0 = ($0.inside + 1, max($0.most, $0.inside + 1)) } }
        func leave() { state.withLock { $0.inside -= 1 } }
        var most: Int { state.withLock { $0.most } }
    }

    @Test func `what the work throws reaches the caller`() async throws {
        let threads = HashingThreadPool(threads: 1)
        #expect(await code { try await threads.run { throw PorticoError(.storeFull, "") } } == .storeFull)
    }
}

@Suite struct PasswordChangeTests {
    private let new = Secret("a better password")

    @Test func `who knows the old password sets a new one, and every other sign-in ends`() async throws {
        let fixture = try await IdentityFixture()
        let (here, there) = (try await fixture.signIn(), try await fixture.signIn())
        _ = try await fixture.identity.authentication(sessionCookie: there.cookie)
        try await fixture.identity.changePassword(
            here.authentication, old: IdentityFixture.password, new: new, from: IdentityFixture.home)
        await fixture.expectEnded(there)
        #expect(try await fixture.identity.authentication(sessionCookie: here.cookie) != nil)
        #expect(await code { _ = try await fixture.signIn() } == .credentialsInvalid)
        _ = try await fixture.signIn("alice", new)
    }

    @Test func `a wrong old password changes nothing and counts as a failure`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        var answers: Set<ErrorCode?> = []
        for _ in 0..<7 {
            answers.insert(
                await code {
                    try await fixture.identity.changePassword(
                        signIn.authentication, old: Secret("wrong password"), new: new, from: IdentityFixture.home)
                })
        }
        #expect(answers == [.credentialsInvalid, .loginThrottled])
        fixture.clock.advance(60)
        _ = try await fixture.signIn()
    }

    @Test(arguments: ["", "abc", "alice", "ALICE", "with\u{0}nul inside", String(repeating: "x", count: 1025)])
    func `a new password that is none is refused with its reason`(text: String) async throws {
        let fixture = try await IdentityFixture { $0.passwords.minimumLength = 4 }
        let signIn = try await fixture.signIn()
        let code = await code {
            try await fixture.identity.changePassword(
                signIn.authentication, old: IdentityFixture.password, new: Secret(text), from: IdentityFixture.home)
        }
        #expect(code == .requestInvalid)
        _ = try await fixture.signIn()
    }
}
