import AdapterKit
import HostConfiguration
import Logging
import Push
import Synchronization
import Upstream

/// Which push services are configured.
struct PushNotificationPlan {
    struct APNs {
        let settings: APNsSettings
        let upstream: UpstreamName
    }

    struct FCM {
        let project: String
        let upstream: UpstreamName
    }

    struct Webhook {
        let address: UpstreamAddress
        let secret: Secret
        let upstream: UpstreamName
    }

    let apns: APNs?
    let fcm: FCM?
    let webhook: Webhook?
    let logs: Bool
    let limits: PushLimits

    var upstreams: Set<UpstreamName> {
        Set([apns?.upstream, fcm?.upstream, webhook?.upstream].compactMap { $0 })
    }

    /// Whether notes reach devices of the same platforms.
    func hasPlatforms(of other: PushNotificationPlan) -> Bool {
        (apns == nil) == (other.apns == nil) && (fcm == nil) == (other.fcm == nil)
            && (webhook == nil) == (other.webhook == nil) && logs == other.logs
    }

    /// Throws ``ConfigurationErrors``.
    init(_ resolved: ResolvedConfiguration, _ upstreams: [UpstreamName: UpstreamPlan]) throws {
        let values = SettingValues(resolved)
        apns = try Self.apns(SectionValues("push.apns", resolved), upstreams)
        fcm = try Self.fcm(SectionValues("push.fcm", resolved), upstreams)
        webhook = try Self.webhook(SectionValues("push.webhook", resolved), upstreams)
        logs = values.flag("push.log")
        var limits = PushLimits()
        limits.tries = values.integer("push.limits.tries")
        limits.pause = values.duration("push.limits.pause")
        limits.longestPause = values.duration("push.limits.longestPause")
        self.limits = limits
    }

    private static func apns(_ values: SectionValues, _ upstreams: [UpstreamName: UpstreamPlan]) throws -> APNs? {
        guard let topic = values["topic"]?.text else { return nil }
        let upstream = try values.systemUpstream(in: upstreams)
        guard let key = values["key"]?.secret else { throw values.wrong("key", "A topic needs a key.") }
        let settings = APNsSettings(
            server: upstream.settings.url.origin, topic: topic, team: values["team"]?.text ?? "",
            keyID: values["keyID"]?.text ?? "", key: key)
        return APNs(settings: settings, upstream: upstream.settings.name)
    }

    private static func fcm(_ values: SectionValues, _ upstreams: [UpstreamName: UpstreamPlan]) throws -> FCM? {
        guard let project = values["project"]?.text else { return nil }
        guard FCMProvider.isProject(project) else {
            throw values.wrong("project", "A project's id has small letters, digits, hyphens, dots and colons.")
        }
        return FCM(project: project, upstream: try values.systemUpstream(in: upstreams).settings.name)
    }

    private static func webhook(_ values: SectionValues, _ upstreams: [UpstreamName: UpstreamPlan]) throws -> Webhook? {
        guard values["upstream"] != nil else { return nil }
        let upstream = try values.systemUpstream(in: upstreams)
        guard let secret = values["secret"]?.secret else {
            throw values.wrong("secret", "What is posted has to be signed.")
        }
        let address = try values.address("path", at: upstream.settings) ?? upstream.settings.url
        return Webhook(address: address, secret: secret, upstream: upstream.settings.name)
    }
}

extension SectionValues {
    /// Push services have no caller.
    fileprivate func systemUpstream(in upstreams: [UpstreamName: UpstreamPlan]) throws -> UpstreamPlan {
        let plan = try upstream(in: upstreams)
        guard !plan.actsForCallers else {
            throw wrong(
                "upstream", "The upstream \(plan.settings.name) is called in its callers' names, and there is none.")
        }
        return plan
    }
}

extension PushServices {
    /// Throws ``HostCommandError`` for a key that is none.
    init(_ plan: PushNotificationPlan, _ upstreams: [UpstreamName: any Upstream], logger: Logger) throws {
        let log = Log(logger, label: "push")
        var providers: [any PushProvider] = plan.logs ? [LogProvider(log: log)] : []
        if let apns = plan.apns, let client = upstreams[apns.upstream] {
            do {
                providers.append(try APNsProvider(apns.settings, client: client, clock: SystemClock()))
            } catch {
                throw HostCommandError("push.apns.key: this is no key of P-256 in PEM.")
            }
        }
        if let fcm = plan.fcm, let client = upstreams[fcm.upstream] {
            providers.append(FCMProvider(project: fcm.project, client: client))
        }
        if let webhook = plan.webhook, let client = upstreams[webhook.upstream] {
            providers.append(WebhookProvider(webhook.address, secret: webhook.secret, client: client))
        }
        self.init(providers, limits: plan.limits, log: log)
    }
}

/// The push services that are used now; another configuration may bring others. A note goes through those with which it
/// began.
final class CurrentPush: PushSender {
    private let state: Mutex<(services: PushServices, waiting: [Int: AsyncStream<Void>.Continuation], last: Int)>

    init(_ services: PushServices) {
        state = Mutex((services, [:], 0))
    }

    private var current: PushServices { state.withLock { $0.services } }

    var platforms: [PushPlatform] { current.platforms }

    func send(_ notification: PushNotification, to device: PushDevice) async -> PushDelivery {
        await current.send(notification, to: device)
    }

    func hasOtherPlatforms(than known: [PushPlatform]) async -> Bool {
        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = continuation
            return state.last
        }
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: number) } }
        while platforms == known { guard await changes.first(where: { _ in true }) != nil else { return false } }
        return true
    }

    func replace(with other: PushServices) {
        state.withLock { state in
            state.services = other
            for continuation in state.waiting.values { continuation.yield() }
        }
    }
}

/// The keys below `push`.
enum PushReference {
    static let keys = common + apns + fcm + webhook

    private static let common = [
        ConfigurationKey(
            "push.log", .flag, default: "false", "Whether notes to devices of the platform `log` are logged."),
        ConfigurationKey("push.limits.tries", .integer(1...20), default: "4", "Of one note, the first included."),
        ConfigurationKey("push.limits.pause", .duration, default: "500ms", "Before the second try; it doubles."),
        ConfigurationKey(
            "push.limits.longestPause", .duration, default: "20s",
            "What a service may ask to be left alone for; for more a note is given up."),
    ]

    private static let apns = [
        ConfigurationKey(
            "push.apns.topic", .text, "Apple's push service: the app's bundle id. Without it it is not used."),
        ConfigurationKey(
            "push.apns.upstream", .text,
            "Apple's push service: the system of `upstreams`, with the url `https://api.push.apple.com/`."),
        ConfigurationKey("push.apns.team", .text, default: "", "Apple's push service: the team's id."),
        ConfigurationKey("push.apns.keyID", .text, default: "", "Apple's push service: the key's id."),
        ConfigurationKey(
            "push.apns.key", .secret(allowsPlain: false), "Apple's push service: the key (PEM, a `.p8` file)."),
    ]

    private static let fcm = [
        ConfigurationKey(
            "push.fcm.project", .text, "Firebase Cloud Messaging: the project's id. Without it it is not used."),
        ConfigurationKey(
            "push.fcm.upstream", .text,
            "Firebase Cloud Messaging: the system of `upstreams`, with the url `https://fcm.googleapis.com/` and "
                + "credentials of the kind `jwtBearer`."),
    ]

    private static let webhook = [
        ConfigurationKey(
            "push.webhook.upstream", .text,
            "Webhook: the system of `upstreams` that notes are posted to. Without it it is not used."),
        ConfigurationKey(
            "push.webhook.path", .text, "Webhook: where notes are posted to, from the upstream's `url`; nothing: there."
        ),
        ConfigurationKey("push.webhook.secret", .secret(allowsPlain: false), "Webhook: signs what is posted."),
    ]
}
