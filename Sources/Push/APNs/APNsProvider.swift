import AdapterKit
import WireFormats

/// Apple's push service over HTTP/2, token-based ("Sending notification requests to APNs" and "Establishing a
/// token-based connection to APNs" in Apple's documentation).
public struct APNsProvider: PushProvider {
    public let platform: PushPlatform = "apns"
    private let settings: APNsSettings
    private let client: any UpstreamClient
    private let token: ProviderToken
    private let clock: any WallClock

    /// `client` speaks HTTP/2 to the settings' address. Throws where the key is none of P-256 in PEM.
    public init(_ settings: APNsSettings, client: any UpstreamClient, clock: any WallClock) throws {
        self.settings = settings
        self.client = client
        self.clock = clock
        token = try ProviderToken(settings)
    }

    public func attempt(_ note: PushNotification, to device: Secret) async -> PushAttempt {
        guard let address = settings.address(of: device) else { return .deviceGone }
        do {
            let bearer = try token.text(at: clock.now())
            let answer = try await client.send(try request(note, address, bearer: bearer))
            if Self.isAboutTheToken(answer) { token.forget(bearer) }
            return Self.meaning(of: answer)
        } catch let failure as UpstreamFailure {
            return .later(nil, "\(failure.kind.rawValue): \(failure.detail)")
        } catch {
            return .refused("\(error)")
        }
    }

    private func request(_ note: PushNotification, _ address: UpstreamAddress, bearer: String) throws -> UpstreamRequest
    {
        var request = UpstreamRequest(
            .post, address,
            fields: [
                "authorization": "bearer \(bearer)", "apns-topic": settings.topic, "apns-push-type": "alert",
                "apns-id": note.id, "apns-priority": "10", "content-type": "application/json",
            ], body: try APNsPayload(note).bytes())
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
