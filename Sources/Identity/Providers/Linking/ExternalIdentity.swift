import AdapterKit

/// Somebody as another system knows him or her.
struct ExternalIdentity: Sendable, Equatable {
    static let maximumSubject = 255

    let provider: ProviderName
    /// What that system never gives to anybody else.
    let subject: String
    /// What it calls the person; for show, and may change.
    let name: String
    let displayName: String?
    let roles: Set<RoleName>
    /// When it said so. What is older than what is known changes nothing.
    let asOf: WireDate
}

extension ExternalIdentity {
    /// Names for a new account, the nicest first. The provider's name is always part of them, and the last one nobody
    /// can have taken on purpose.
    func accountNames(_ digest: String) -> [AccountName] {
        let allowed = name.unicodeScalars.filter { $0.isASCII && AccountName.isValid("a\($0)") }
        let stem = String(String.UnicodeScalarView(allowed.prefix(16))).trimmingPrefix { ".-_@+".contains($0) }
        let plain = stem.isEmpty ? "user" : String(stem)
        return [
            "\(plain)@\(provider)", "\(plain)+\(digest.prefix(6))@\(provider)", "\(digest.prefix(20))@\(provider)",
        ].compactMap { AccountName($0) }
    }
}
