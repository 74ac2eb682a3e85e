import AdapterKit
import Crypto

/// An event at its place in the audit log.
///
/// The digest is SHA-256 over the digest before it and every field, each led by its length as eight little-endian
/// bytes: number, milliseconds since 1970, kind, actor, subject, address, detail. The first entry has number 1 and
/// follows 32 zero bytes. A format for good: entries written with it must stay verifiable.
public struct AuditEntry: Sendable, Equatable {
    public let number: Int64
    public let milliseconds: Int64
    /// ``AuditEvent/Kind``'s raw value; a text, so that a later version's kinds can be verified by an earlier one.
    public let kind: String
    public let actor: String
    public let subject: String
    public let address: String
    public let detail: String
    public let digest: [UInt8]

    init(_ event: AuditEvent, after head: AuditHead, at now: WireDate) {
        let number = head.count + 1
        let milliseconds = UnixTime(now).wholeMilliseconds
        self.init(
            number: number, milliseconds: milliseconds, kind: event.kind.rawValue, actor: event.actor,
            subject: event.subject, address: event.address, detail: event.detail,
            digest: Self.digest(
                head.digest, number, milliseconds,
                [event.kind.rawValue, event.actor, event.subject, event.address, event.detail]))
    }

    init(
        number: Int64, milliseconds: Int64, kind: String, actor: String, subject: String, address: String,
        detail: String, digest: [UInt8]
    ) {
        self.number = number
        self.milliseconds = milliseconds
        self.kind = kind
        self.actor = actor
        self.subject = subject
        self.address = address
        self.detail = detail
        self.digest = digest
    }

    /// Whether this is the entry that was written after `head`.
    func follows(_ head: AuditHead) -> Bool {
        number == head.count + 1
            && digest == Self.digest(head.digest, number, milliseconds, [kind, actor, subject, address, detail])
    }

    private static func digest(_ previous: [UInt8], _ number: Int64, _ milliseconds: Int64, _ texts: [String])
        -> [UInt8]
    {
        var hash = SHA256()
        func update(_ bytes: [UInt8]) {
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        update(previous)
        for number in [number, milliseconds] { update(withUnsafeBytes(of: number.littleEndian) { Array($0) }) }
        for text in texts { update(Array(text.utf8)) }
        return Array(hash.finalize())
    }
}

/// The number of entries and the digest of the last. A head that is kept elsewhere proves later that no entry before it
/// was changed, even against an attacker who rewrote the whole log.
public struct AuditHead: Sendable, Equatable {
    public let count: Int64
    public let digest: [UInt8]

    public init(count: Int64, digest: [UInt8]) {
        self.count = count
        self.digest = digest
    }

    /// `COUNT-DIGEST`, the digest in base64url: to be kept elsewhere and given back.
    public var text: String { "\(count)-\(Base64URL.encode(digest))" }

    /// Nil for what ``text`` does not give.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let count = Int64(parts[0]), count >= 0,
            let digest = Base64URL.decode(String(parts[1])),
            digest.count == 32
        else { return nil }
        self.init(count: count, digest: digest)
    }

    public static let empty = AuditHead(count: 0, digest: [UInt8](repeating: 0, count: 32))

    init(_ last: AuditEntry) {
        self.init(count: last.number, digest: last.digest)
    }
}

/// Something that operators must be able to find out later. It holds no secret, and no text that a caller typed unless
/// it is an account's name: people type passwords into the wrong field.
public struct AuditEvent: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case signInAccepted = "signIn.accepted"
        case signInRefused = "signIn.refused"
        case signedOut = "signIn.ended"
        case refreshTokenReused = "signIn.refreshTokenReused"
        case accountAdded = "account.added"
        case accountChanged = "account.changed"
        case accountDeleted = "account.deleted"
        case passwordChanged = "account.passwordChanged"
        case sessionsRevoked = "sessions.revoked"
        case apiKeyCreated = "apiKey.created"
        case apiKeyRevoked = "apiKey.revoked"
        case signingKeyRotated = "signingKey.rotated"
        case adminTokenCreated = "adminToken.created"
        case adminTokenRevoked = "adminToken.revoked"
        /// An operator's verb that changes something, whether it succeeded or not; the subject is its endpoint's name.
        case administered = "administration.performed"
        /// A credential that the admin listener refused.
        case administrationRefused = "administration.refused"
        /// Another configuration is used; the detail are the keys that changed.
        case configurationApplied = "configuration.applied"
        /// A backup took the store's place when the gateway started. Entries before it are the backup's.
        case storeRestored = "store.restored"
        /// An adapter was installed, upgraded, rolled back, removed or started anew; the subject is its name.
        case adapterDeployed = "adapter.deployed"
        /// The oldest entries were removed; the detail is the ``AuditHead`` of the last of them.
        case auditCut = "audit.cut"
        /// A caller's change of records of which no row rule says whose they are; the subject is the adapter, the entity and,
        /// of a single one, the id.
        case recordChanged = "record.changed"
        /// An operator looked at rows that belong to callers; the subject are the adapter, the entity and, of a single one, the
        /// id, the detail is the reason that the operator gave.
        case recordsRead = "records.read"
        /// An event of another module, recorded through ``Identity/record(_:)``.
        case permissionChanged = "permission.changed"
    }

    public let kind: Kind
    /// The actor: an account's id, `system`, `operator`, or empty where it is not known.
    public let actor: String
    /// To whom or what.
    public let subject: String
    public let address: String
    /// Constant words and ids.
    public let detail: String

    public init(_ kind: Kind, actor: String, subject: String = "", address: String = "", detail: String = "") {
        self.kind = kind
        self.actor = actor
        self.subject = subject
        self.address = address
        self.detail = detail
    }
}
