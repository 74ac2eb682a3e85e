import AdapterKit

/// A sign-in at a portal: the page, the form, every redirect, the page that proves it. A state machine;
/// ``PortalProvider`` carries out what it asks for.
///
/// The cookie may be set on any hop, so every answer is read. The password is posted once, to the configured address.
/// Portals answer a wrong password with anything: the form again, a redirect, an error, the deletion of their cookie. So
/// nobody is signed in unless all of it says so: no error, a cookie that is alive and was not there before the password
/// was posted, no form for a password at the end, and, where a page is configured that only signed-in callers get, that
/// page (docs/decisions/0091).
struct PortalSignIn: Sendable {
    enum Step: Sendable {
        case ask(UpstreamRequest)
        case signedIn(CookieJar)
        case refused
        case failed(StaticString)
    }

    private enum Stage {
        case page
        case form
        case proof
    }

    private let settings: PortalSettings
    private let username: String
    private let password: Secret
    private var jar = CookieJar()
    private var hops = 0
    private var stage = Stage.page
    /// What the cookie said before the password was posted.
    private var valuesBefore: [Secret] = []

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
        guard response.status != 429 else { return .failed("the portal takes no more calls") }
        if stage == .proof { return proven(by: response, now: now) }
        if let target = response.redirect { return follow(target, now: now) }
        return stage == .page ? post(now: now) : posted(response, now: now)
    }

    private mutating func post(now: WireDate) -> Step {
        stage = .form
        hops = 0
        valuesBefore = jar.values(of: settings.cookie, now: now)
        let fields = [(settings.userField, username), (settings.passwordField, password.reveal())]
        let form = FormFields(settings.extraFields + fields.map { (name: $0.0, value: $0.1) })
        return ask(UpstreamRequest(posting: form, to: settings.form), now: now)
    }

    /// A chain without end ends nowhere, so nobody is signed in. That counts as a refusal: guesses must not be free.
    private mutating func follow(_ target: UpstreamAddress, now: WireDate) -> Step {
        hops += 1
        guard hops <= PortalSettings.maximumHops else {
            return stage == .form ? .refused : .failed("the portal redirects without end")
        }
        return ask(UpstreamRequest(.get, target), now: now)
    }

    /// The last answer to the form.
    private mutating func posted(_ response: UpstreamResponse, now: WireDate) -> Step {
        guard hasNewCookie(now) else { return .refused }
        if let proof = settings.proof {
            stage = .proof
            return ask(UpstreamRequest(.get, proof), now: now)
        }
        return response.status < 400 && !asksForPassword(response) ? .signedIn(jar) : .refused
    }

    /// A redirect of the proving page leads to where one signs in.
    private func proven(by response: UpstreamResponse, now: WireDate) -> Step {
        response.isSuccess && hasNewCookie(now) && !asksForPassword(response) ? .signedIn(jar) : .refused
    }

    private func hasNewCookie(_ now: WireDate) -> Bool {
        let before = Set(valuesBefore.map { $0.reveal() })
        return jar.values(of: settings.cookie, now: now).contains { !before.contains($0.reveal()) }
    }

    /// Whether the page holds the form's field for the password: `name="j_password"`, with either quote or none.
    private func asksForPassword(_ response: UpstreamResponse) -> Bool {
        let page = String(decoding: response.body.prefix(PortalSettings.maximumPage), as: UTF8.self).lowercased()
        let field = settings.passwordField.lowercased()
        return page.split(separator: "name").dropFirst().contains { rest in
            let value = rest.drop(while: \.isWhitespace)
            guard value.first == "=" else { return false }
            let name = value.dropFirst().drop { $0.isWhitespace || $0 == "\"" || $0 == "'" }
            guard name.hasPrefix(field) else { return false }
            return name.dropFirst(field.count).first.map { $0.isWhitespace || "\"'/>".contains($0) } ?? true
        }
    }

    private func ask(_ request: UpstreamRequest, now: WireDate) -> Step {
        var request = request
        request.fields["User-Agent"] = settings.userAgent
        request.fields["Cookie"] = jar.field(for: request.address, now: now)
        return .ask(request)
    }
}
