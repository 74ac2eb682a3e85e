import AdapterKit
import Crypto
import Testing
import WireFormats

@testable import Push

@Suite struct WebhookTests {
    private static let note = PushNotification(
        id: "n1", title: "Lunch", body: "At noon?", thread: "room-1", data: ["room": "r1"])

    private func provider(_ service: PushService) throws -> WebhookProvider {
        let address = try #require(UpstreamAddress("https://push.example/notes"))
        return WebhookProvider(address, secret: Secret("key"), client: service)
    }

    @Test func `the document is signed as it is sent`() async throws {
        let service = PushService(202, "")
        #expect(try await provider(service).attempt(Self.note, to: Secret("device")) == .delivered)
        let request = try #require(service.requests.first)
        #expect(request.method == .post && !request.isIdempotent)
        #expect(request.address.description == "https://push.example/notes")
        #expect(
            try JSONFormat().read(request.body) == [
                "id": "n1", "token": "device", "title": "Lunch", "body": "At noon?", "data": ["room": "r1"],
                "thread": "room-1",
            ])
        let code = HMAC<SHA256>.authenticationCode(for: request.body, using: SymmetricKey(data: Array("key".utf8)))
        #expect(request.fields["portico-signature"] == "sha256=\(Hexadecimal.text(code))")
    }

    @Test(arguments: [
        (200, PushAttempt.delivered), (299, .delivered), (300, .refused("300")), (199, .refused("199")),
        (400, .refused("400")), (410, .deviceGone), (429, .later(.seconds(7), "429")),
        (499, .refused("499")), (500, .later(.seconds(7), "500")), (503, .later(.seconds(7), "503")),
    ])
    func `the status decides about the device and about another try`(status: Int, expected: PushAttempt) async throws {
        #expect(try await provider(PushService(status, "")).attempt(Self.note, to: Secret("device")) == expected)
    }

    @Test func `a system that does not answer is tried again`() async throws {
        guard
            case .later(nil, _) = try await provider(PushService(failing: .unreachable)).attempt(
                Self.note, to: Secret("device"))
        else {
            Issue.record("another outcome")
            return
        }
    }
}
