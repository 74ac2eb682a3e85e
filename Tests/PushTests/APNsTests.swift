import AdapterKit
import Crypto
import Synchronization
import Testing
import WireFormats

@testable import Push

@Suite struct APNsTests {
    private static let key = P256.Signing.PrivateKey()
    private static let note = PushNotification(
        id: "5c5b9b5e-3a3e-4c66-9a0a-0d7f0e0c0a01", title: "Lunch", body: "At noon?", thread: "room-1",
        data: ["room": "r1"])
    private static let device = Secret("00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")

    /// Seconds since 1970 that move when they are told to.
    private final class Clock: WallClock {
        private let seconds = Mutex(1_767_225_600.0)

        func now() -> WireDate { seconds.withLock { WireDate(secondsSince1970: $0) } }
        func pass(_ span: Double) { seconds.withLock { $0 += span } }
    }

    private let clock = Clock()

    private func provider(_ service: PushService, key: String = key.pemRepresentation) throws -> APNsProvider {
        let server = try #require(UpstreamAddress("https://api.push.example/")).origin
        let settings = APNsSettings(
            server: server, topic: "com.example.app", team: "TEAM", keyID: "KEY", key: Secret(key))
        return try APNsProvider(settings, client: service, clock: clock)
    }

    @Test func `a notification goes to the device with the topic, its id and its texts`() async throws {
        let service = PushService(200, "")
        #expect(try await provider(service).attempt(Self.note, to: Self.device) == .delivered)
        let request = try #require(service.requests.first)
        #expect(request.address.description == "https://api.push.example/3/device/\(Self.device.reveal())")
        #expect(request.method == .post && !request.isIdempotent)
        let fields = ["apns-topic", "apns-push-type", "apns-priority", "apns-id"].map { request.fields[$0] }
        #expect(fields == ["com.example.app", "alert", "10", Self.note.id])
        #expect(
            try JSONFormat().read(request.body) == [
                "room": "r1",
                "aps": [
                    "alert": ["title": "Lunch", "body": "At noon?"], "sound": "default", "thread-id": "room-1",
                ],
            ])
    }

    @Test func `the token is a JWT of the team that the key has signed`() async throws {
        let service = PushService(200, "")
        _ = try await provider(service).attempt(Self.note, to: Self.device)
        let bearer = try #require(service.requests.first?.fields["authorization"])
        let parts = try #require(bearer.hasPrefix("bearer ") ? bearer.dropFirst(7).split(separator: ".") : nil)
        let decoded = try parts.map { try #require(Base64URL.decode(String($0))) }
        #expect(decoded.count == 3)
        #expect(try JSONFormat().read(decoded[0]) == ["alg": "ES256", "kid": "KEY"])
        #expect(try JSONFormat().read(decoded[1]) == ["iss": "TEAM", "iat": 1_767_225_600])
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded[2])
        let signed = Array(parts[0...1].joined(separator: ".").utf8)
        #expect(Self.key.publicKey.isValidSignature(signature, for: signed))
    }

    @Test func `a token serves for fifty minutes, and no longer than the service takes it`() async throws {
        let service = PushService([
            .success((200, "")), .success((200, "")), .success((200, "")),
            .success((403, #"{"reason":"ExpiredProviderToken"}"#)), .success((200, "")),
        ])
        let provider = try provider(service)
        for (pause, expected) in [
            (0.0, PushAttempt.delivered), (2_999, .delivered), (1, .delivered),
            (1, .later(.zero, "ExpiredProviderToken")), (1, .delivered),
        ] {
            clock.pass(pause)
            #expect(await provider.attempt(Self.note, to: Self.device) == expected)
        }
        let tokens = service.requests.map { $0.fields["authorization"] }
        #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2] && tokens[2] == tokens[3] && tokens[3] != tokens[4])
    }

    @Test(arguments: [
        (410, #"{"reason":"Unregistered"}"#, PushAttempt.deviceGone),
        (400, #"{"reason":"BadDeviceToken"}"#, .deviceGone),
        (400, #"{"reason":"DeviceTokenNotForTopic"}"#, .deviceGone),
        (400, #"{"reason":"BadTopic"}"#, .refused("400 BadTopic")), (403, "", .refused("403 ")),
        (429, #"{"reason":"TooManyRequests"}"#, .later(.seconds(7), "429 TooManyRequests")),
        (500, "<html>", .later(.seconds(7), "500 ")), (503, "", .later(.seconds(7), "503 ")),
    ])
    func `an answer decides about the device and about another try`(status: Int, body: String, expected: PushAttempt)
        async throws
    {
        #expect(try await provider(PushService(status, body)).attempt(Self.note, to: Self.device) == expected)
    }

    @Test func `an unreachable service is tried again`() async throws {
        guard
            case .later(nil, _) = try await provider(PushService(failing: .unreachable)).attempt(
                Self.note, to: Self.device)
        else {
            Issue.record("another outcome")
            return
        }
    }

    @Test(arguments: [
        "", "0123456789abcde", String(repeating: "a", count: 401), "0123456789abcdeg", "../../../0123456789abcdef",
    ])
    func `what can be no device's token reaches no service`(token: String) async throws {
        let service = PushService(200, "")
        #expect(try await provider(service).attempt(Self.note, to: Secret(token)) == .deviceGone)
        #expect(service.requests.isEmpty)
    }

    @Test(arguments: ["0123456789abcdef", String(repeating: "F", count: 400)])
    func `the shortest and the longest token of a device are sent`(token: String) async throws {
        #expect(try await provider(PushService(200, "")).attempt(Self.note, to: Secret(token)) == .delivered)
    }

    @Test func `a text too long for the service is cut, between characters and no more than necessary`() throws {
        for letter in ["x", "é", "\u{1F469}\u{200D}\u{1F467}"] {
            let note = PushNotification(id: "n", title: "T", body: String(repeating: letter, count: 5_000))
            let bytes = try APNsPayload(note).bytes()
            #expect(
                bytes.count <= APNsPayload.maximumBytes && bytes.count > APNsPayload.maximumBytes - letter.utf8.count)
            let body = try JSONFormat().read(bytes)["aps"]?["alert"]?["body"]?.stringValue ?? ""
            #expect(!body.isEmpty && note.body.hasPrefix(body) && body.allSatisfy { String($0) == letter })
        }
    }

    @Test func `a text that fits is not cut`() throws {
        let empty = try APNsPayload(PushNotification(id: "n", title: "T", body: "")).bytes().count
        let text = String(repeating: "x", count: APNsPayload.maximumBytes - empty)
        let bytes = try APNsPayload(PushNotification(id: "n", title: "T", body: text)).bytes()
        #expect(bytes.count == APNsPayload.maximumBytes)
        #expect(try JSONFormat().read(bytes)["aps"]?["alert"]?["body"]?.stringValue == text)
    }

    @Test func `a key that is none is refused at the start`() {
        #expect(throws: (any Error).self) { try provider(PushService(200, ""), key: "no key") }
    }
}
