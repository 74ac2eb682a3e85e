import Identity

/// What a verified client certificate means at the admin listener.
public struct AdminCertificates: Sendable {
    /// `admin.certificateRole`
    public let role: AdminRole
    /// The subject's name in a certificate (DER), for the audit log.
    public let name: @Sendable ([UInt8]) -> String

    public init(role: AdminRole, name: @escaping @Sendable ([UInt8]) -> String) {
        self.role = role
        self.name = name
    }
}
