import AdapterKit
import ValueTree

/// The cookies of a `Cookie` header field (RFC 6265, section 4.2.1), read by bytes as browsers do: `=` and a combining mark
/// after it are one `Character`.
///
/// Clients of SAP portals send the attributes of a `Set-Cookie` back as if they were cookies, `MYSAPSSO2=v; Domain=d;
/// Path=/` in one field: those two names are skipped.
struct CookieField: Sendable {
    private let cookies: [(name: Substring, value: Substring)]

    init(_ field: String) {
        cookies = field.utf8.split(separator: UInt8(ascii: ";")).compactMap { piece in
            let pair = Substring(piece).trimmingSpaces()
            guard let split = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = pair[..<split]
            guard name.lowercased() != "domain", name.lowercased() != "path" else { return nil }
            return (name, pair[pair.utf8.index(after: split)...])
        }
    }

    /// The cookie of that name; nil where there is none, or several: a neighbour may have planted one of them.
    func singleCookie(_ name: String) -> String? {
        let found = cookies.filter { $0.name.utf8.elementsEqual(name.utf8) }
        return found.count == 1 ? found.first.map { String($0.value) } : nil
    }

    /// The first cookie of that name.
    subscript(name: String) -> String? {
        cookies.first { $0.name.utf8.elementsEqual(name.utf8) }.map { String($0.value) }
    }
}

/// How the session cookie is named and labelled.
public struct SessionCookieSettings: Sendable, Equatable {
    /// `identity.session.cookie.name`
    public let name: String
    /// Only over TLS; such a cookie carries the `__Host-` prefix unless a historical name was configured.
    public let isSecure: Bool

    public static let defaultName = "portico_session"

    /// Whether the operators' console has the cookie of this name, so that no other may be called so.
    public static func isTaken(_ name: String) -> Bool { ConsoleCookie.isNamed(name) }

    public init(name: String = Self.defaultName, isSecure: Bool) {
        self.name = isSecure && name == Self.defaultName ? "__Host-\(name)" : name
        self.isSecure = isSecure
    }

    /// What stands for the session on the sign-in page, before there is one.
    var beforeSignIn: SessionCookieSettings {
        SessionCookieSettings(exactly: isSecure ? "__Host-portico_sign_in" : "portico_sign_in", isSecure: isSecure)
    }

    /// What a browser keeps while it is at a provider's page. It comes along when that page sends the browser back
    /// (`Lax`); with TLS no other host of the domain can set it.
    var pendingSignIn: SessionCookieSettings {
        SessionCookieSettings(exactly: isSecure ? "__Host-portico_pending" : "portico_pending", isSecure: isSecure)
    }

    private init(exactly name: String, isSecure: Bool) {
        self.name = name
        self.isSecure = isSecure
    }

    func field(_ value: Secret, maxAge: Int) -> String {
        "\(name)=\(value.reveal()); Path=/; Max-Age=\(maxAge); HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")"
    }

    /// Makes a browser forget it.
    var removal: String { field(Secret(""), maxAge: 0) }
}
