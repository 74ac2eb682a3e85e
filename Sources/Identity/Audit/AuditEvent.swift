import AdapterKit

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
        case passwordChanged = "account.passwordChanged"
        case sessionsRevoked = "sessions.revoked"
        case apiKeyCreated = "apiKey.created"
        case apiKeyRevoked = "apiKey.revoked"
        case signingKeyRotated = "signingKey.rotated"
        /// The oldest entries were removed; the detail is the ``AuditHead`` of the last of them.
        case auditCut = "audit.cut"
        /// Something that another room records through ``Identity/record(_:with:)``.
        case permissionChanged = "permission.changed"
    }

    public let kind: Kind
    /// Who did it: an account's id, `system`, `operator`, or empty where nobody is known.
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
