import AdapterKit
import HostConfiguration
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

    /// Throws ``Refusal``.
    init(_ resolved: ResolvedConfiguration) throws {
        let values = Values(resolved)
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
        let values = Values(resolved)
        guard let key = resolved["push.apns.key"]?.secret else { throw Refusal("push.apns.key: a topic needs a key.") }
        guard let place = UpstreamAddress(values.text("push.apns.server")) else {
            throw Refusal("push.apns.server: this is no http or https address.")
        }
        let settings = APNsSettings(
            server: place.origin, topic: topic, team: values.text("push.apns.team"),
            keyID: values.text("push.apns.keyID"), key: key)
        var upstream = try UpstreamSettings(push: "apns", at: place, values)
        upstream.speaksHTTP2 = true
        return (settings, upstream)
    }

    private static func webhook(_ resolved: ResolvedConfiguration) throws -> Webhook? {
        guard let text = resolved["push.webhook.address"]?.text else { return nil }
        guard let address = UpstreamAddress(text) else {
            throw Refusal("push.webhook.address: this is no http or https address.")
        }
        guard let secret = resolved["push.webhook.secret"]?.secret else {
            throw Refusal("push.webhook.secret: what is posted has to be signed.")
        }
        return Webhook(
            address: address, secret: secret,
            upstream: try UpstreamSettings(push: "webhook", at: address, Values(resolved)))
    }
}

extension UpstreamSettings {
    fileprivate init(push name: UpstreamName, at place: UpstreamAddress, _ values: Values) throws {
        self.init(name: name, origins: [place.origin])
        privateNetworks = try values.texts("push.\(name).networks").map { text in
            guard let range = AddressRange(text) else { throw Refusal("push.\(name).networks: \(text) is no network.") }
            return range
        }
        trustedCertificates = values.texts("push.\(name).certificates")
    }
}
