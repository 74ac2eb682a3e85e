import AdapterKit
import Crypto
import WireFormats

/// Hands notes to a system of the company's own: `POST` of one JSON document,
/// `{"id", "token", "title", "body", "thread"?, "data"}`, signed with HMAC-SHA-256 (RFC 2104) of its bytes in
/// `Portico-Signature: sha256={hexadecimal}`.
///
/// 2xx: taken. 410: the token is to be forgotten. 429 and 5xx: again later, after `Retry-After`. The `id` stays the same.
public struct WebhookProvider: PushProvider {
    public let platform: PushPlatform = "webhook"
    private let address: UpstreamAddress
    private let secret: Secret
    private let client: any Upstream

    public init(_ address: UpstreamAddress, secret: Secret, client: any Upstream) {
        self.address = address
        self.secret = secret
        self.client = client
    }

    public func attempt(_ notification: PushNotification, to token: Secret) async -> PushAttempt {
        do {
            let body = try JSONFormat().write(Self.value(notification, token))
            var request = UpstreamRequest(
                .post, address,
                fields: ["content-type": "application/json", "portico-signature": "sha256=\(signature(of: body))"],
                body: body)
            request.isIdempotent = false
            return Self.meaning(of: try await client.send(request))
        } catch let failure as UpstreamFailure {
            return .later(nil, "\(failure.kind.rawValue): \(failure.detail)")
        } catch {
            return .refused("\(error)")
        }
    }

    static func meaning(of answer: UpstreamResponse) -> PushAttempt {
        switch answer.status {
        case 200..<300: return .delivered
        case 410: return .deviceGone
        case 429, 500...:
            let asked = answer.fields["retry-after"].flatMap { Int($0) }.map { Duration.seconds(max(0, $0)) }
            return .later(asked, "\(answer.status)")
        default: return .refused("\(answer.status)")
        }
    }

    private static func value(_ notification: PushNotification, _ token: Secret) -> WireValue {
        var value: WireDictionary = [
            "id": .string(notification.id), "token": .string(token.reveal()), "title": .string(notification.title),
            "body": .string(notification.body), "data": .dictionary(notification.data),
        ]
        if let thread = notification.thread { value["thread"] = .string(thread) }
        return .dictionary(value)
    }

    private func signature(of body: [UInt8]) -> String {
        let key = SymmetricKey(data: Array(secret.reveal().utf8))
        return Hexadecimal.text(HMAC<SHA256>.authenticationCode(for: body, using: key))
    }
}
