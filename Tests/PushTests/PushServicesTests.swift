import AdapterKit
import Synchronization
import Testing

@testable import Push

@Suite struct PushServicesTests {
    private static let note = PushNotification(id: "n1", title: "Lunch", body: "At noon?")

    /// The messages of a log.
    private final class Messages: Sendable {
        private let all = Mutex<[LogMessage]>([])
        var log: Log { Log { message in self.all.withLock { $0.append(message) } } }
        var texts: [String] { all.withLock { $0.map(\.text) } }
    }

    private var limits: PushLimits {
        var limits = PushLimits()
        limits.pause = .zero
        limits.longestPause = .seconds(7)
        return limits
    }

    private func services(_ service: PushService, _ messages: Messages, limits: PushLimits? = nil) -> PushServices {
        PushServices(
            [FCMProvider(project: "p", client: service), LogProvider(log: messages.log)],
            limits: limits ?? self.limits, log: messages.log)
    }

    @Test func `a note goes to the service of the device's platform`() async {
        let (service, messages) = (PushService(200, ""), Messages())
        let services = services(service, messages)
        #expect(services.platforms == ["fcm", "log"])
        #expect(await services.send(Self.note, to: PushDevice("fcm", token: Secret("t"))) == .delivered)
        #expect(service.requests.count == 1 && messages.texts.isEmpty)
        #expect(await services.send(Self.note, to: PushDevice("log", token: Secret("t"))) == .delivered)
        #expect(service.requests.count == 1 && messages.texts == ["push"])
    }

    @Test func `a device of a platform without a service is not notified`() async {
        guard
            case .failed = await services(PushService(200, ""), Messages()).send(
                Self.note, to: PushDevice("apns", token: Secret("t")))
        else {
            Issue.record("it was")
            return
        }
    }

    @Test func `a service that fails is tried again until it takes the note`() async {
        let failure = UpstreamFailure(.unreachable, of: "fcm")
        let service = PushService([.failure(failure), .failure(failure), .success((200, ""))])
        let messages = Messages()
        #expect(
            await services(service, messages).send(Self.note, to: PushDevice("fcm", token: Secret("t"))) == .delivered)
        #expect(service.requests.count == 3 && messages.texts.isEmpty)
    }

    @Test func `a note that cannot be delivered is given up and logged`() async {
        let (service, messages) = (PushService(failing: .unreachable), Messages())
        guard
            case .failed = await services(service, messages).send(Self.note, to: PushDevice("fcm", token: Secret("t")))
        else {
            Issue.record("it was delivered")
            return
        }
        #expect(service.requests.count == limits.tries && messages.texts == ["push failed"])
    }

    @Test func `a device that is gone is reported without a line in the log`() async {
        let messages = Messages()
        let services = services(PushService(404, ""), messages)
        #expect(await services.send(Self.note, to: PushDevice("fcm", token: Secret("t"))) == .deviceGone)
        #expect(messages.texts.isEmpty)
    }

    @Test func `a stop of the server ends the wait for the next try`() async {
        var limits = limits
        limits.pause = .seconds(7)
        let services = services(PushService(failing: .unreachable), Messages(), limits: limits)
        let sending = Task { await services.send(Self.note, to: PushDevice("fcm", token: Secret("t"))) }
        sending.cancel()
        #expect(await sending.value == .failed("the server stops"))
    }
}
