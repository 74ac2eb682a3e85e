import AdapterKit
import HostConfiguration
import IPAddresses
import Logging
import Push
import Upstream

/// Which push services are configured.
struct PushPlan {
    struct Webhook {
        let address: UpstreamAddress
        let secret: Secret
        let upstream: UpstreamSettings
    }

    let apns: (settings: APNsSettings, upstream: UpstreamSettings)?
    let webhook: Webhook?
    let logs: Bool
    let limits: PushLimits

    /// Throws ``CommandError``.
    init(_ resolved: ResolvedConfiguration) throws {
        let values = SettingValues(resolved)
        apns = try Self.apns(resolved)
        webhook = try Self.webhook(resolved)
        logs = values.flag("push.log")
        var limits = PushLimits()
        limits.tries = values.integer("push.limits.tries")
        limits.pause = values.duration("push.limits.pause")
        limits.longestPause = values.duration("push.limits.longestPause")
        self.limits = limits
    }

    private static func apns(_ resolved: ResolvedConfiguration) throws -> (
        settings: APNsSettings, upstream: UpstreamSettings
    )? {
        guard let topic = resolved["push.apns.topic"]?.text else { return nil }
        let values = SettingValues(resolved)
        guard let key = resolved["push.apns.key"]?.secret else {
            throw CommandError("push.apns.key: a topic needs a key.")
        }
        guard let location = UpstreamAddress(values.text("push.apns.server")) else {
            throw CommandError("push.apns.server: this is no http or https address.")
        }
        let settings = APNsSettings(
            server: location.origin, topic: topic, team: values.text("push.apns.team"),
            keyID: values.text("push.apns.keyID"), key: key)
        var upstream = try UpstreamSettings(push: "apns", at: location, values)
        upstream.speaksHTTP2 = true
        return (settings, upstream)
    }

    private static func webhook(_ resolved: ResolvedConfiguration) throws -> Webhook? {
        guard let text = resolved["push.webhook.address"]?.text else { return nil }
        guard let address = UpstreamAddress(text) else {
            throw CommandError("push.webhook.address: this is no http or https address.")
        }
        guard let secret = resolved["push.webhook.secret"]?.secret else {
            throw CommandError("push.webhook.secret: what is posted has to be signed.")
        }
        return Webhook(
            address: address, secret: secret,
            upstream: try UpstreamSettings(push: "webhook", at: address, SettingValues(resolved)))
    }
}

extension UpstreamSettings {
    fileprivate init(push name: UpstreamName, at location: UpstreamAddress, _ values: SettingValues) throws {
        self.init(name: name, origins: [location.origin])
        privateNetworks = try values.texts("push.\(name).networks").map { text in
            guard let range = AddressRange(text) else {
                throw CommandError("push.\(name).networks: \(text) is no network.")
            }
            return range
        }
        trustedCertificates = values.texts("push.\(name).certificates")
    }
}

/// The push services as they run, and the connections to be closed in the end.
struct PushWiring {
    let sender: any PushSender
    let upstreams: [HTTPUpstream]

    /// Throws ``CommandError`` for a key that is none.
    init(_ plan: PushPlan, logger: Logger) throws {
        let log = Log(logger, label: "push")
        var providers: [any PushProvider] = plan.logs ? [LogProvider(log: log)] : []
        var upstreams: [HTTPUpstream] = []
        if let apns = plan.apns {
            let client = HTTPUpstream(apns.upstream, log: log)
            upstreams.append(client)
            do {
                providers.append(try APNsProvider(apns.settings, client: client, clock: SystemClock()))
            } catch {
                throw CommandError("push.apns.key: this is no key of P-256 in PEM.")
            }
        }
        if let webhook = plan.webhook {
            let client = HTTPUpstream(webhook.upstream, log: log)
            upstreams.append(client)
            providers.append(WebhookProvider(webhook.address, secret: webhook.secret, client: client))
        }
        sender = PushServices(providers, limits: plan.limits, log: log)
        self.upstreams = upstreams
    }
}

/// The keys below `push`.
enum PushReference {
    static let keys = common + apns + webhook

    private static let common = [
        ConfigurationKey(
            "push.log", .flag, default: "false", "Whether notes to devices of the platform `log` are logged."),
        ConfigurationKey("push.limits.tries", .integer(1...20), default: "4", "Of one note, the first included."),
        ConfigurationKey("push.limits.pause", .duration, default: "500ms", "Before the second try; it doubles."),
        ConfigurationKey(
            "push.limits.longestPause", .duration, default: "20s",
            "What a service may ask to be left alone for; for more a note is given up."),
    ]

    private static let apns =
        [
            ConfigurationKey(
                "push.apns.topic", .text, "Apple's push service: the app's bundle id. Without it it is not used."),
            ConfigurationKey("push.apns.team", .text, default: "", "Apple's push service: the team's id."),
            ConfigurationKey("push.apns.keyID", .text, default: "", "Apple's push service: the key's id."),
            ConfigurationKey(
                "push.apns.key", .secret(allowsPlain: false), "Apple's push service: the key (PEM, a `.p8` file)."),
            ConfigurationKey(
                "push.apns.server", .text, default: "https://api.push.apple.com", "Apple's push service: where it is."),
        ] + reach("push.apns")

    private static let webhook =
        [
            ConfigurationKey(
                "push.webhook.address", .text, "Webhook: where notes are posted to. Without it it is not used."),
            ConfigurationKey("push.webhook.secret", .secret(allowsPlain: false), "Webhook: signs what is posted."),
        ] + reach("push.webhook")

    private static func reach(_ name: String) -> [ConfigurationKey] {
        [
            ConfigurationKey(
                "\(name).networks", .list(of: .text), default: "[]", "Networks that are not public and may be reached."),
            ConfigurationKey(
                "\(name).certificates", .list(of: .text), default: "[]",
                "Files (PEM) of further certificates that are trusted."),
        ]
    }
}
