import AdapterKit
import Logging
import Push
import Upstream

/// The push services as they run, and the connections to be closed in the end.
struct PushWiring {
    let sender: any PushSender
    let upstreams: [HTTPUpstream]

    /// Throws ``Refusal`` for a key that is none.
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
                throw Refusal("push.apns.key: this is no key of P-256 in PEM.")
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
