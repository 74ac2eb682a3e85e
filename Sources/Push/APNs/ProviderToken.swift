import AdapterKit
import Crypto
import Synchronization
import WireFormats

/// The token by which a provider shows to Apple's service who it is: a JWT (RFC 7519) signed with ES256 (RFC 7518,
/// section 3.4). The service takes one for an hour and wants no new one within twenty minutes.
final class ProviderToken: Sendable {
    private struct Current {
        let text: String
        let issued: Double
    }

    /// Seconds.
    private static let renewal = 50.0 * 60

    private let settings: APNsSettings
    private let key: P256.Signing.PrivateKey
    private let current = Mutex<Current?>(nil)

    init(_ settings: APNsSettings) throws {
        self.settings = settings
        key = try P256.Signing.PrivateKey(pemRepresentation: settings.key.reveal())
    }

    func text(at now: WireDate) throws -> String {
        try current.withLock { current in
            let seconds = now.secondsSinceReferenceDate
            if let current, (0..<Self.renewal).contains(seconds - current.issued) { return current.text }
            let text = try sign(at: now)
            current = Current(text: text, issued: seconds)
            return text
        }
    }

    /// The service did not take it.
    func forget(_ text: String) {
        current.withLock { if $0?.text == text { $0 = nil } }
    }

    private func sign(at now: WireDate) throws -> String {
        let header: WireValue = ["alg": "ES256", "kid": .string(settings.keyID)]
        let issued = Int64(now.secondsSinceReferenceDate) + Self.referenceDate
        let claims: WireValue = ["iss": .string(settings.team), "iat": .int64(issued)]
        let parts = try [header, claims].map { Base64URL.encode(try JSONFormat().write($0)) }
        let signed = parts.joined(separator: ".")
        let signature = try key.signature(for: Array(signed.utf8))
        return "\(signed).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }

    /// 2001-01-01, in seconds since 1970.
    private static let referenceDate: Int64 = 978_307_200
}
