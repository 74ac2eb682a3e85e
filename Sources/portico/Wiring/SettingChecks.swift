import Foundation
import HostConfiguration

/// Values of the right kind that cannot work. All of them are reported, each with its place.
struct SettingChecks {
    private let resolved: ResolvedConfiguration

    init(_ resolved: ResolvedConfiguration) {
        self.resolved = resolved
    }

    /// Throws ``ConfigurationErrors``.
    func check() throws {
        let errors = origins + cookie + queueTimeout + certificates
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
    }

    private var origins: [ConfigurationError] {
        texts("http.cors.origins").filter { !Self.isOrigin($0) }.map {
            error(
                "http.cors.origins",
                "\($0.debugDescription) is no origin: a scheme, `://`, a host in lower case and a port, nothing behind."
            )
        }
    }

    /// As browsers send it (RFC 6454, section 6.2): without user, path and slash at the end.
    private static func isOrigin(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme, let host = parts.host else {
            return false
        }
        let port = parts.port.map { ":\($0)" } ?? ""
        return !host.isEmpty && text == "\(scheme)://\(host)\(port)" && text == text.lowercased()
    }

    /// A token (RFC 6265, section 4.1.1).
    private var cookie: [ConfigurationError] {
        let key = "identity.session.cookie.name"
        let isToken = { (byte: UInt8) in
            byte > 0x20 && byte < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
        }
        guard let name = resolved[key]?.text, name.isEmpty || !name.utf8.allSatisfy(isToken) else { return [] }
        return [error(key, "A cookie's name has letters, digits and some signs such as `_` and `-`, and no spaces.")]
    }

    /// The default gives way by itself.
    private var queueTimeout: [ConfigurationError] {
        let key = "identity.login.queueTimeout"
        guard resolved.place(of: key) != nil, let timeout = resolved[key]?.duration,
            let request = resolved["http.deadlines.request"]?.duration, timeout > request / 2
        else { return [] }
        return [error(key, "At most half of http.deadlines.request.")]
    }

    private var certificates: [ConfigurationError] {
        let providers = Set(resolved.settings(below: "identity.providers").compactMap(\.path.first)).sorted()
        let keys = providers.map { "identity.providers.\($0).certificates" } + ["push.webhook.certificates"]
        return keys.flatMap { key in
            texts(key).compactMap { path in
                FileFailure.reading(path).map { error(key, "\(path) cannot be read: \($0).") }
            }
        }
    }

    private func texts(_ key: String) -> [String] { (resolved[key]?.list ?? []).compactMap(\.text) }

    private func error(_ key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(message, at: resolved.place(of: key) ?? .commandLine(key))
    }
}
