import AdapterKit
import WireFormats

/// Firebase Cloud Messaging over its HTTP v1 interface (Firebase documentation, "FCM HTTP v1 API",
/// `projects.messages.send`).
///
/// The client has the service account's credentials (RFC 7523) and the service's address.
public struct FCMProvider: PushProvider {
    public let platform: PushPlatform = "fcm"
    private let project: String
    private let client: any Upstream

    /// `project`: the project's id, of which ``isProject(_:)`` holds.
    public init(project: String, client: any Upstream) {
        self.project = project
        self.client = client
    }

    /// Letters, digits, hyphens, dots and colons, so that the id can stand in a path.
    public static func isProject(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "-.:".utf8.contains(byte)
            }
    }

    public func attempt(_ notification: PushNotification, to token: Secret) async -> PushAttempt {
        guard let address = client.url.resolving("v1/projects/\(project)/messages:send") else {
            return .refused("the project is no part of an address")
        }
        do {
            let body = try JSONFormat().write(Self.message(notification, token))
            guard body.count <= Self.maximumBytes else { return .refused("the message is too large") }
            var request = UpstreamRequest(
                .post, address, fields: ["Content-Type": "application/json", "Accept": "application/json"], body: body)
            request.answerLimit = 64 << 10
            return Self.meaning(of: try await client.send(request))
        } catch let failure as UpstreamFailure {
            let passes = failure.kind != .credentialsRefused && failure.kind != .destinationRefused
            let reason = "\(failure.kind.rawValue): \(failure.detail)"
            return passes ? .later(nil, reason) : .refused(reason)
        } catch {
            return .refused("\(error)")
        }
    }

    /// What the service takes of a message, with some room for its own fields.
    static let maximumBytes = 16 << 10
    /// Of a notification's text.
    static let maximumText = 1_000

    static func message(_ notification: PushNotification, _ token: Secret) -> WireValue {
        var data: WireDictionary = ["id": .string(notification.id)]
        for member in notification.data { data[member.key] = .string(text(member.value)) }
        var android: WireDictionary = ["priority": "HIGH"]
        if let thread = notification.thread {
            data["thread"] = .string(thread)
            android["collapse_key"] = .string(thread)
        }
        return [
            "message": [
                "token": .string(token.reveal()),
                "notification": [
                    "title": .string(String(notification.title.prefix(maximumText))),
                    "body": .string(String(notification.body.prefix(maximumText))),
                ],
                "data": .dictionary(data), "android": .dictionary(android),
            ]
        ]
    }

    /// `data` holds texts only; other values are written as JSON.
    private static func text(_ value: WireValue) -> String {
        if let text = value.stringValue { return text }
        return (try? JSONFormat().write(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// By the status and the error's code.
    static func meaning(of answer: UpstreamResponse) -> PushAttempt {
        let code = errorCode(answer)
        switch (answer.status, code) {
        case (200, _): return .delivered
        case (404, _), (_, "UNREGISTERED"), (_, "SENDER_ID_MISMATCH"): return .deviceGone
        case (429, _), (500..., _):
            let asked = answer.fields["Retry-After"].flatMap { Int($0) }.map { Duration.seconds(max(0, $0)) }
            return .later(asked, "\(answer.status) \(code)")
        default: return .refused("\(answer.status) \(code)")
        }
    }

    /// `error.details[].errorCode` of the service, otherwise `error.status`.
    private static func errorCode(_ answer: UpstreamResponse) -> String {
        guard let error = (try? JSONFormat().read(answer.body))?["error"] else { return "" }
        let codes = (error["details"]?.arrayValue ?? []).compactMap { $0["errorCode"]?.stringValue }
        return codes.first ?? error["status"]?.stringValue ?? ""
    }
}
