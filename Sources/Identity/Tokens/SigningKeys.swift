import AdapterKit
import Crypto
import JWTKit
import Synchronization

/// The key ring of this process, and its rotation.
final class SigningKeys: Sendable {
    private let context: IdentityContext
    private let ring: Mutex<KeyRing>

    /// Loads the keys; makes the first one where there is none.
    init(_ context: IdentityContext) async throws {
        self.context = context
        ring = Mutex(try await Self.load(context.records))
        if current.signing == nil { try await rotate(by: .system) }
    }

    var current: KeyRing { ring.withLock { $0 } }

    func signing() throws -> KeyRing.Member {
        guard let key = current.signing else { throw PorticoError(.serverInternal, "There is no signing key.") }
        return key
    }

    /// A new key signs from now on. Tokens signed with the old one are accepted as long as the last of them lives, or
    /// from now on not at all.
    func rotate(by actor: Principal, trustingOld: Bool = true) async throws {
        let now = context.clock.now()
        let key = SigningKey.make(context.randomness, at: now)
        let overlap = context.longestAccessLifetime + .seconds(AccessTokenInspector.clockSkew)
        try await context.writes.write(author: actor.name) { [context] in
            let changes = try await Self.keys(context.records).compactMap { old in
                Self.retirement(old, now: now, overlap: trustingOld ? overlap : nil)
            }
            let event = AuditEvent(
                .signingKeyRotated, actor: actor.id, subject: key.id.text, detail: trustingOld ? "" : "old ones void")
            return AuditedChange([SigningKeyRecord.creation(key)] + changes, event)
        }
        let loaded = try await Self.load(context.records)
        ring.withLock { $0 = loaded }
        if !trustingOld { context.cache.forgetAll() }
    }

    /// The change that a key undergoes when another one takes its place.
    private static func retirement(_ old: SigningKey, now: WireDate, overlap: Duration?) -> RecordChange? {
        guard let overlap else { return SigningKeyRecord.deletion(old) }
        guard let end = old.verifiesUntil else { return SigningKeyRecord.retirement(old, until: now + overlap) }
        return now < end ? nil : SigningKeyRecord.deletion(old)
    }

    func rotateWhenDue() async throws {
        let lifetime = context.configuration.tokens.keyLifetime
        guard let key = current.signing, context.clock.now() - key.key.created < lifetime else {
            return try await rotate(by: .system)
        }
    }

    private static func load(_ records: IdentityRecords) async throws -> KeyRing {
        try await KeyRing(keys(records))
    }

    private static func keys(_ records: IdentityRecords) async throws -> [SigningKey] {
        try await records.all(in: IdentityCollections.signingKeys).map(SigningKeyRecord.read)
    }
}

/// A key that signs access tokens with ES256 (RFC 7518, section 3.4): understood by whatever else a company runs, and
/// small.
struct SigningKey: Sendable, Equatable {
    let id: SigningKeyID
    /// The scalar of the private key, 32 bytes in base64url: `d` of RFC 7518, section 6.2.2.1.
    let privateKey: Secret
    let created: WireDate
    /// When tokens signed with it stop being accepted; nil while it is the one that signs.
    let verifiesUntil: WireDate?

    func key() throws -> P256.Signing.PrivateKey {
        guard let bytes = Base64URL.decode(privateKey.reveal()),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else {
            throw PorticoError(.serverInternal, "A stored signing key can't be read.", logDetail: "kid \(id)")
        }
        return key
    }

    /// The scalar is drawn from `randomness`: a draw outside of the curve's order is as likely as guessing the key.
    static func make(_ randomness: any Randomness, at now: WireDate) -> SigningKey {
        while true {
            let bytes = randomness.bytes(32)
            guard (try? P256.Signing.PrivateKey(rawRepresentation: bytes)) != nil else { continue }
            return SigningKey(
                id: SigningKeyID(randomness), privateKey: Secret(Base64URL.encode(bytes)), created: now,
                verifiesUntil: nil)
        }
    }
}

/// The stored form of a signing key. The private key is there in the clear, as the accounts are: who can read the
/// database owns the gateway anyway, and a key beside it would be read with it. docs/decisions/0053.
enum SigningKeyRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.signingKeys, summary: "Keys that sign access tokens.",
        fields: [
            Field("privateKey", .string(maximumLength: 64), isRequired: true),
            Field("created", .date, isRequired: true),
            Field("verifiesUntil", .date, isNullable: true),
        ])

    static func read(_ record: Record) throws -> SigningKey {
        let reader = RecordReader(record)
        return SigningKey(
            id: try reader.id(), privateKey: Secret(try reader.text("privateKey")), created: try reader.date("created"),
            verifiesUntil: try reader.optional("verifiesUntil", reader.date))
    }

    static func creation(_ key: SigningKey) -> RecordChange {
        let fields: WireDictionary = [
            "privateKey": .string(key.privateKey.reveal()), "created": .date(key.created),
            "verifiesUntil": .optional(key.verifiesUntil),
        ]
        return RecordChange(IdentityCollections.signingKeys, .create(key.id.recordID, fields), if: .absent)
    }

    static func retirement(_ key: SigningKey, until: WireDate) -> RecordChange {
        RecordChange(IdentityCollections.signingKeys, .update(key.id.recordID, ["verifiesUntil": .date(until)]))
    }

    static func deletion(_ key: SigningKey) -> RecordChange {
        RecordChange(IdentityCollections.signingKeys, .delete(key.id.recordID))
    }
}

/// The keys in use: one that signs, and those whose tokens are still accepted.
struct KeyRing: Sendable {
    /// A key, and JWTKit's view of it: a collection of this key alone, because a collection of several takes its default
    /// for a `kid` that it does not know.
    struct Member: Sendable {
        let key: SigningKey
        let publicKey: P256.Signing.PublicKey
        let algorithm: JWTKeyCollection

        init(_ key: SigningKey) async throws {
            let privateKey = try key.key()
            self.key = key
            publicKey = privateKey.publicKey
            algorithm = JWTKeyCollection()
            await algorithm.add(ecdsa: try ES256PrivateKey(backing: privateKey))
        }
    }

    let members: [Member]

    init(_ keys: [SigningKey]) async throws {
        var members: [Member] = []
        for key in keys { members.append(try await Member(key)) }
        self.members = members
    }

    /// The newest that has not been replaced.
    var signing: Member? {
        members.filter { $0.key.verifiesUntil == nil }.max { $0.key.created < $1.key.created }
    }

    func member(_ id: String, now: WireDate) -> Member? {
        members.first { $0.key.id.text == id && $0.key.verifiesUntil.map { now < $0 } ?? true }
    }

    /// The public keys as a JWK set (RFC 7517, section 5).
    func publicSet(now: WireDate) -> WireValue {
        let live = members.filter { member($0.key.id.text, now: now) != nil }
        return ["keys": .array(live.map(Self.publicKey))]
    }

    private static func publicKey(_ member: Member) -> WireValue {
        let point = Array(member.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": .string(member.key.id.text),
            "x": .string(Base64URL.encode(Array(point.prefix(32)))),
            "y": .string(Base64URL.encode(Array(point.suffix(32)))),
        ]
    }
}
