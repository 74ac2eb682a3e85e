import AdapterKit
import RecordStorage

/// The rights of a caller of the admin listener. Each role may do what the ones before it may.
public enum AdminRole: String, Sendable, CaseIterable, Comparable {
    /// Reads.
    case viewer
    /// Changes what runs.
    case `operator`
    /// Destroys, and gives rights to others.
    case admin

    public static func < (left: AdminRole, right: AdminRole) -> Bool {
        left != right && (left == .viewer || right == .admin)
    }
}

/// The name of an admin token: small letters, digits and hyphens, as those of adapters are.
public struct AdminTokenName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { AdapterName.isValid(text) }
}

/// A credential for the admin listener. It is good for nothing else. Two are equal where their secrets are, too.
public struct AdminToken: Sendable, Hashable {
    public let name: AdminTokenName
    public let role: AdminRole
    public let created: WireDate
    let secret: SecretDigest
}

/// The credential: `pa_NAME_SECRET`, with a prefix by which scanners find tokens that were committed by mistake.
struct AdminTokenCredential: Sendable {
    private static let prefix = "pa"
    private static let longest = 128

    let name: AdminTokenName
    let secret: Secret

    init(name: AdminTokenName, secret: Secret) {
        self.name = name
        self.secret = secret
    }

    init?(_ value: Secret) {
        guard value.reveal().utf8.count <= Self.longest else { return nil }
        let parts = value.reveal().split(separator: "_", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.prefix, let name = AdminTokenName(String(parts[1])),
            parts[2].utf8.count == Secret.randomLength, Base64URL.isWellFormed(parts[2])
        else { return nil }
        self.init(name: name, secret: Secret(String(parts[2])))
    }

    var value: Secret { Secret("\(Self.prefix)_\(name.text)_\(secret.reveal())") }
}

/// The stored form of an admin token: the digest of its secret.
enum AdminTokenRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.adminTokens, summary: "Credentials for the admin listener.",
        fields: [
            Field("role", .string(maximumLength: 16), isRequired: true), Field("created", .date, isRequired: true),
            Field("secret", .data(maximumBytes: 32), isRequired: true),
        ])

    static func read(_ record: Record) throws -> AdminToken {
        let reader = RecordReader(record)
        return AdminToken(
            name: try reader.require(AdminTokenName(record.id.text), "id"), role: try reader.choice("role"),
            created: try reader.date("created"), secret: try reader.digest("secret"))
    }

    static func creation(_ token: AdminToken) -> RecordChange {
        RecordChange(
            IdentityCollections.adminTokens,
            .create(
                RecordID(unchecked: token.name.text),
                [
                    "role": .string(token.role.rawValue), "created": .date(token.created),
                    "secret": .digest(token.secret),
                ]), if: .absent)
    }
}

/// The admin tokens. They are few, so a look-up asks the store: a revocation counts from the next call on.
extension Administration {
    /// Admin tokens that there may be.
    public static let mostAdminTokens = 100

    /// By name.
    public func adminTokens() async throws -> [AdminToken] {
        try await context.records.all(order: [SortKey("id")], in: IdentityCollections.adminTokens)
            .map(AdminTokenRecord.read)
    }

    /// The credential is given out here and never again. Throws `record.exists` where the name is taken.
    public func addAdminToken(
        _ name: AdminTokenName, role: AdminRole, by actor: Principal
    ) async throws -> (token: AdminToken, credential: Secret) {
        let credential = AdminTokenCredential(name: name, secret: .random(context.randomness))
        let token = AdminToken(
            name: name, role: role, created: context.clock.now(), secret: SecretDigest(of: credential.secret))
        try await context.writes.write(author: actor.name) {
            let known = try await adminTokens()
            guard !known.contains(where: { $0.name == name }) else {
                throw PorticoError(.recordExists, "An admin token of this name exists.", target: "name")
            }
            guard known.count < Self.mostAdminTokens else {
                throw PorticoError(.requestLimitExceeded, "There are at most \(Self.mostAdminTokens) admin tokens.")
            }
            return AuditedChange(
                [AdminTokenRecord.creation(token)],
                AuditEvent(.adminTokenCreated, actor: actor.id, subject: name.text, detail: role.rawValue))
        }
        return (token, credential.value)
    }

    /// Throws `record.notFound` where there is none of this name.
    public func revokeAdminToken(_ name: AdminTokenName, by actor: Principal) async throws {
        try await context.writes.write(author: actor.name) {
            guard try await adminTokens().contains(where: { $0.name == name }) else {
                throw PorticoError(.recordNotFound, "There is no admin token of this name.")
            }
            return AuditedChange(
                [RecordChange(IdentityCollections.adminTokens, .delete(RecordID(unchecked: name.text)))],
                AuditEvent(.adminTokenRevoked, actor: actor.id, subject: name.text))
        }
    }

    /// Nil where there is none of this name.
    public func adminToken(named name: AdminTokenName) async throws -> AdminToken? {
        try await context.records.record(RecordID(unchecked: name.text), in: IdentityCollections.adminTokens)
            .map(AdminTokenRecord.read)
    }

    /// The token that this credential is; nil for every other text. Its secret is compared in constant time.
    public func adminToken(_ value: Secret) async throws -> AdminToken? {
        guard let credential = AdminTokenCredential(value) else { return nil }
        let record = try await context.records.record(
            RecordID(unchecked: credential.name.text), in: IdentityCollections.adminTokens)
        guard let token = try record.map(AdminTokenRecord.read), token.secret.matches(credential.secret) else {
            return nil
        }
        return token
    }
}
