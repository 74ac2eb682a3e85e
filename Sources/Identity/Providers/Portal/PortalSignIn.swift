import AdapterKit

/// A sign-in at a portal, from the page over the form through every redirect. A state machine; ``PortalProvider``
/// carries out what it asks for.
///
/// The cookie may be set on any hop, so every answer is read. The password is posted once, to the configured address.
struct PortalSignIn: Sendable {
    enum Step: Sendable {
        case ask(UpstreamRequest)
        case signedIn(CookieJar)
        case refused
        case failed(StaticString)
    }

    private let settings: PortalSettings
    private let username: String
    private let password: Secret
    private var jar = CookieJar()
    private var hops = 0
    private var isPosted = false

    init(_ settings: PortalSettings, _ username: String, _ password: Secret) {
        self.settings = settings
        self.username = username
        self.password = password
    }

    mutating func begin(now: WireDate) -> Step {
        settings.page.map { ask(UpstreamRequest(.get, $0), now: now) } ?? post(now: now)
    }

    mutating func next(after response: UpstreamResponse, now: WireDate) -> Step {
        jar.note(response, now: now)
        guard response.status < 500 else { return .failed("the portal answered with an error") }
        if let target = response.redirect { return follow(target, now: now) }
        guard isPosted else { return post(now: now) }
        return jar.holds(settings.cookie, now: now) ? .signedIn(jar) : .refused
    }

    private mutating func post(now: WireDate) -> Step {
        isPosted = true
        let fields = [(settings.userField, username), (settings.passwordField, password.reveal())]
        let form = FormFields(settings.extraFields + fields.map { (name: $0.0, value: $0.1) })
        return ask(UpstreamRequest(posting: form, to: settings.form), now: now)
    }

    private mutating func follow(_ target: UpstreamAddress, now: WireDate) -> Step {
        hops += 1
        guard hops <= PortalSettings.maximumHops else { return .failed("the portal redirects without end") }
        return ask(UpstreamRequest(.get, target), now: now)
    }

    private func ask(_ request: UpstreamRequest, now: WireDate) -> Step {
        var request = request
        request.fields["User-Agent"] = settings.userAgent
        request.fields["Cookie"] = jar.field(for: request.address, now: now)
        return .ask(request)
    }
}
