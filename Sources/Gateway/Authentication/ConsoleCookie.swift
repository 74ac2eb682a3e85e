import AdapterKit
import HTTPTypes
import Identity

/// The cookie of the operators' console.
///
/// Cookies know no ports: a browser sends the admin listener's to the public one of the same host too, where it is removed
/// before anything sees it, and no adapter may set it.
struct ConsoleCookie: Sendable {
    private static let plainName = "portico_console"
    private static let secureName = "__Host-portico_console"

    /// Whether the admin listener has TLS.
    let isSecure: Bool

    private var name: String { isSecure ? Self.secureName : Self.plainName }

    /// Nil where there is none, or several: a neighbour may have planted one of them.
    func value(of request: GatewayRequest) -> Secret? {
        request.headers[.cookie].flatMap { CookieField($0).singleCookie(name) }.map { Secret($0) }
    }

    /// Whether a request names the cookie at all.
    func isThere(in request: GatewayRequest) -> Bool {
        request.headers[.cookie].map { CookieField($0)[name] != nil } ?? false
    }

    func field(_ value: Secret, maxAge: Int) -> String {
        "\(name)=\(value.reveal()); Path=/; Max-Age=\(maxAge); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }

    /// Makes a browser forget it.
    var removal: String { field(Secret(""), maxAge: 0) }

    /// Whether a cookie's name is the console's, with TLS or without.
    static func isNamed(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        return name == plainName || name == secureName.lowercased()
    }

    /// Whether a `Set-Cookie` field would set it.
    static func isSet(by field: String) -> Bool {
        isNamed(field.prefix { $0 != "=" && $0 != ";" }.trimmingSpaces())
    }

    /// The fields of a request without the console's cookies.
    static func removed(from fields: HTTPFields) -> HTTPFields {
        guard let cookies = fields.text(.cookie), cookies.lowercased().utf8.contains(plainName.utf8) else {
            return fields
        }
        var rest = HTTPFields()
        for field in fields {
            guard field.name == .cookie else {
                rest.append(field)
                continue
            }
            let kept = field.value.split(separator: ";").filter { !isNamed($0.prefix { $0 != "=" }.trimmingSpaces()) }
            if !kept.isEmpty { rest.append(HTTPField(name: .cookie, value: kept.joined(separator: ";").trimmed)) }
        }
        return rest
    }
}

extension String {
    fileprivate var trimmed: String { String(self[...].trimmingSpaces()) }
}
