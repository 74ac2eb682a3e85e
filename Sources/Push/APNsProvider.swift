import AdapterKit
import Crypto
import Synchronization
import WireFormats

/// Apple's push service over HTTP/2, token-based ("Sending notification requests to APNs" and "Establishing a
/// token-based connection to APNs" in Apple's documentation).
public struct APNsProvider: PushProvider {
    public let platform: PushPlatform = "apns"
    private let settings: APNsSettings
    private let client: any Upstream
    private let token: ProviderToken
    private let clock: any WallClock

    /// `client` speaks HTTP/2 to the settings' address. Throws where the key is none of P-256 in PEM.
    public init(_ settings: APNsSettings, client: any Upstream, clock: any WallClock) throws {
        self.settings = settings
        self.client = client
        self.clock = clock
        token = try ProviderToken(settings)
    }

    public func attempt(_ notification: PushNotification, to device: Secret) async -> PushAttempt {
        guard let address = settings.address(of: device) else { return .deviceGone }
        do {
            let bearer = try token.text(at: clock.now())
            let answer = try await client.send(try request(notification, address, bearer: bearer))
            if Self.isAboutTheToken(answer) { token.forget(bearer) }
            return Self.meaning(of: answer)
        } catch let failure as UpstreamFailure {
            return .later(nil, "\(failure.kind.rawValue): \(failure.detail)")
        } catch {
            return .refused("\(error)")
        }
    }

    private func request(_ notification: PushNotification, _ address: UpstreamAddress, bearer: String) throws
        -> UpstreamRequest
    {
        var request = UpstreamRequest(
            .post, address,
            fields: [
                "authorization": "bearer \(bearer)", "apns-topic": settings.topic, "apns-push-type": "alert",
                "apns-id": notification.id, "apns-priority": "10", "content-type": "application/json",
            ], body: try APNsPayload(notification).bytes())
        request.isIdempotent = false
        return request
    }

    /// By the status and the `reason` of the body.
    static func meaning(of answer: UpstreamResponse) -> PushAttempt {
        let reason = reason(answer)
        switch (answer.status, reason) {
        case (200, _): return .delivered
        case (410, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): return .deviceGone
        case (403, "ExpiredProviderToken"): return .later(.zero, reason)
        case (429, _), (500..., _):
            let asked = answer.fields["retry-after"].flatMap { Int($0) }.map { Duration.seconds(max(0, $0)) }
            return .later(asked, "\(answer.status) \(reason)")
        default: return .refused("\(answer.status) \(reason)")
        }
    }

    private static func isAboutTheToken(_ answer: UpstreamResponse) -> Bool {
        answer.status == 403 && reason(answer) == "ExpiredProviderToken"
    }

    private static func reason(_ answer: UpstreamResponse) -> String {
        (try? JSONFormat().read(answer.body))?["reason"]?.stringValue ?? ""
    }
}

/// Whose notes they are, and by which key that is shown.
public struct APNsSettings: Sendable {
    public var server: UpstreamOrigin
    /// The app's bundle id.
    public var topic: String
    public var team: String
    public var keyID: String
    /// PEM, as Apple hands it out (`.p8`).
    public var key: Secret

    public init(server: UpstreamOrigin, topic: String, team: String, keyID: String, key: Secret) {
        self.server = server
        self.topic = topic
        self.team = team
        self.keyID = keyID
        self.key = key
    }

    /// Nil for what can be no device's token: hexadecimal digits.
    func address(of device: Secret) -> UpstreamAddress? {
        let text = device.reveal()
        guard (16...400).contains(text.utf8.count), text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
        return UpstreamAddress("\(server)/3/device/\(text)")
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}

/// A note as Apple's service takes it: at most 4,096 bytes of JSON.
struct APNsPayload {
    static let maximumBytes = 4_096

    private let notification: PushNotification

    init(_ notification: PushNotification) {
        self.notification = notification
    }

    /// With as many of the text's characters as fit.
    func bytes() throws -> [UInt8] {
        let whole = try bytes(notification.body)
        guard whole.count > Self.maximumBytes else { return whole }
        // A character takes a byte at least, and the more there are the longer it is.
        var (fits, tooMany) = (0, min(notification.body.count, Self.maximumBytes))
        while tooMany - fits > 1 {
            let middle = (fits + tooMany) / 2
            let isWithin = try bytes(String(notification.body.prefix(middle))).count <= Self.maximumBytes
            if isWithin { fits = middle } else { tooMany = middle }
        }
        return try bytes(String(notification.body.prefix(fits)))
    }

    private func bytes(_ body: String) throws -> [UInt8] { try JSONFormat().write(value(body)) }

    private func value(_ body: String) -> WireValue {
        var aps: WireDictionary = [
            "alert": ["title": .string(notification.title), "body": .string(body)], "sound": "default",
        ]
        if let thread = notification.thread { aps["thread-id"] = .string(thread) }
        var all = notification.data
        all["aps"] = .dictionary(aps)
        return .dictionary(all)
    }
}

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
