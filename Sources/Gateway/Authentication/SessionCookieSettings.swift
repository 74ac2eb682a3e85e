import AdapterKit
import ValueTree

/// How the session cookie is named and labelled.
public struct SessionCookieSettings: Sendable, Equatable {
    /// `identity.session.cookie.name`
    public let name: String
    /// Only over TLS; such a cookie carries the `__Host-` prefix unless a historical name was configured.
    public let isSecure: Bool

    public static let defaultName = "portico_session"

    public init(name: String = Self.defaultName, isSecure: Bool) {
        self.name = isSecure && name == Self.defaultName ? "__Host-\(name)" : name
        self.isSecure = isSecure
    }

    func field(_ value: Secret, maxAge: Int) -> String {
        "\(name)=\(value.reveal()); Path=/; Max-Age=\(maxAge); HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")"
    }

    /// Makes a browser forget it.
    var removal: String { field(Secret(""), maxAge: 0) }
}
