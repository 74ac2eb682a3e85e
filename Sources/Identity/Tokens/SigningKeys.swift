import AdapterKit
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
        let overlap = context.configuration.tokens.accessLifetime + .seconds(AccessTokenInspector.clockSkew)
        try await context.writes.write(author: actor.name) { [context] in
            let changes = try await Self.keys(context.records).compactMap { old in
                Self.farewell(old, now: now, overlap: trustingOld ? overlap : nil)
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
    private static func farewell(_ old: SigningKey, now: WireDate, overlap: Duration?) -> RecordChange? {
        guard let overlap else { return SigningKeyRecord.deletion(old) }
        guard let end = old.verifiesUntil else { return SigningKeyRecord.retirement(old, until: now + overlap) }
        return end < now ? SigningKeyRecord.deletion(old) : nil
    }

    func rotateWhenDue() async throws {
        let lifetime = context.configuration.tokens.keyLifetime.inSeconds
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
