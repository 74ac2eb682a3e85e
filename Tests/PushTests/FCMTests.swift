import AdapterKit
import Testing

@testable import Push

@Suite struct FCMTests {
    private static let note = PushNotification(
        id: "n1", title: "Lunch", body: "At noon?", thread: "room-1", data: ["room": "r1", "count": .int64(3)])

    @Test func `a message goes to the project with the token, texts and data`() async throws {
        let client = PushService(200, "{}")
        #expect(
            await FCMProvider(project: "our-app", client: client).attempt(Self.note, to: Secret("device")) == .delivered
        )
        let request = try #require(client.requests.first)
        #expect(request.address.description == "https://fcm.example/v1/projects/our-app/messages:send")
        #expect(request.method == .post && !request.isIdempotent)
        let text = String(decoding: request.body, as: UTF8.self)
        for part in [
            #""token":"device""#, #""title":"Lunch""#, #""body":"At noon?""#, #""room":"r1""#, #""count":"3""#,
            #""thread":"room-1""#, #""id":"n1""#,
        ] { #expect(text.contains(part), "\(part) in \(text)") }
    }

    @Test(arguments: [
        (404, #"{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}"#, PushAttempt.deviceGone),
        (403, #"{"error":{"status":"PERMISSION_DENIED","details":[{"errorCode":"SENDER_ID_MISMATCH"}]}}"#, .deviceGone),
        (429, #"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#, .later(.seconds(7), "429 RESOURCE_EXHAUSTED")),
        (503, "<html>", .later(.seconds(7), "503 ")),
        (400, #"{"error":{"status":"INVALID_ARGUMENT"}}"#, .refused("400 INVALID_ARGUMENT")),
    ])
    func `an answer decides about the device and about another try`(status: Int, body: String, expected: PushAttempt)
        async
    {
        let provider = FCMProvider(project: "p", client: PushService(status, body))
        #expect(await provider.attempt(Self.note, to: Secret("device")) == expected)
    }

    @Test func `refused credentials are final, an unreachable service is not`() async {
        for (kind, isFinal) in [(UpstreamFailure.Kind.credentialsRefused, true), (.unreachable, false)] {
            let provider = FCMProvider(project: "p", client: PushService(failing: kind))
            switch await provider.attempt(Self.note, to: Secret("device")) {
            case .refused: #expect(isFinal)
            case .later(nil, _): #expect(!isFinal)
            default: Issue.record("another outcome")
            }
        }
    }

    @Test(arguments: ["", "a/b", "../x", "a b", "A", String(repeating: "a", count: 129)])
    func `what cannot be a project is none`(text: String) {
        #expect(!FCMProvider.isProject(text))
    }
}
