import AdapterKit

/// Signs in where a portal takes the name and the password, and keeps what the portal gave for calls in that account's
/// name.
package struct PortalProvider: SignInProvider {
    package var name: ProviderName { settings.name }
    let settings: PortalSettings
    let upstream: any Upstream
    let context: IdentityContext
    let accounts: ExternalAccounts
    let signIns: PortalSignIns
    private let turns: FairScheduler

    init(_ settings: PortalSettings, _ upstream: any Upstream, _ context: IdentityContext) {
        self.settings = settings
        self.upstream = upstream
        self.context = context
        accounts = ExternalAccounts(context: context)
        signIns = PortalSignIns(limit: settings.keptSignIns, clock: context.clock)
        let passwords = context.configuration.passwords
        turns = FairScheduler(
            FairQueue.Limits(
                slots: settings.signInsAtOnce, waiting: passwords.waitingHashes, longestWait: passwords.longestWait))
    }

    func use(longestWait: Duration) { turns.use(longestWait: longestWait) }

    /// A name that could be no account's is not sent: what one system trims or folds another does not.
    package func verify(_ evidence: SignInEvidence) async throws -> SignInVerdict {
        guard case .password(let username, let password, let address, _) = evidence, let name = AccountName(username),
            Self.isPlausible(password), let roles = settings.roles.roles(of: []),
            let jar = try await signIn(username, password, from: address)
        else { return .refused }
        let identity = ExternalIdentity(
            provider: self.name, subject: name.folded, name: username, displayName: username, roles: roles,
            asOf: context.clock.now())
        guard let account = try await accounts.account(for: identity) else { return .refused }
        signIns.keep(PortalCredentials(cookies: jar), for: account.id, username: username, password: password)
        return .accepted(ProvenAccount(account))
    }

    /// The cookies of a new sign-in; nil where the portal refuses. Throws where it says neither, and where the turn would
    /// come too late.
    func signIn(_ username: String, _ password: Secret, from address: ClientAddress) async throws -> CookieJar? {
        try await turns.run(for: PasswordShare(address: address, name: username)) {
            try await signIn(username, password)
        }
    }

    private func signIn(_ username: String, _ password: Secret) async throws -> CookieJar? {
        var walk = PortalSignIn(settings, username, password)
        var step = walk.begin(now: context.clock.now())
        while true {
            switch step {
            case .ask(let request):
                step = walk.next(after: try await answer(to: request), now: context.clock.now())
            case .signedIn(let jar): return jar
            case .refused: return nil
            case .failed(let reason):
                throw UpstreamFailure(.broken, of: upstream.name, detail: "\(reason)").asError
            }
        }
    }

    func answer(to request: UpstreamRequest) async throws -> UpstreamResponse {
        do throws(UpstreamFailure) {
            return try await upstream.send(request)
        } catch {
            throw error.asError
        }
    }

    /// An empty password signs in anonymously with some systems behind portals.
    private static func isPlausible(_ password: Secret) -> Bool {
        let bytes = password.reveal().utf8
        return (1...PortalSettings.maximumPassword).contains(bytes.count)
            && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}

/// A portal that people sign in to with a form, such as SAP's.
public struct PortalSettings: Sendable {
    public var name: ProviderName
    /// Where the form is posted to.
    public var form: UpstreamAddress
    /// Asked first, for the cookies that the form must bring along; nil: none.
    public var page: UpstreamAddress?
    public var userField = "j_user"
    public var passwordField = "j_password"
    /// Further members of the form, as they are.
    public var extraFields: [(name: String, value: String)] = []
    /// The `User-Agent` of the gateway; some portals refuse one that they do not know.
    public var userAgent = "Portico"
    /// The cookie of a signed-in caller.
    public var cookie = "MYSAPSSO2"
    /// A page that only signed-in callers get, with 2xx: asked after the form, it decides. Nil: the cookie does.
    public var proof: UpstreamAddress?
    /// Where a token against cross-site requests is fetched; nil: at the address that is written to.
    public var tokenPage: UpstreamAddress?
    public var roles = RoleMapping()
    /// Sign-ins that are kept for calls; at one more, the one used longest ago goes.
    public var keptSignIns = 10_000
    /// Passwords that it is asked at once; further ones wait, in fair shares by address and by name.
    public var signInsAtOnce = 8

    public init(name: ProviderName, form: UpstreamAddress) {
        self.name = name
        self.form = form
    }

    /// Redirects that a sign-in may take.
    static let maximumHops = 10
    static let maximumPassword = 1024
}

/// A sign-in at a portal: the page, the form, every redirect, the page that proves it. A state machine;
/// ``PortalProvider`` carries out what it asks for.
///
/// The cookie may be set on any hop, so every answer is read. The password is posted once, to the configured address.
/// Portals answer a wrong password with anything: the form again, a redirect, an error, the deletion of their cookie. So
/// a sign-in counts only where all of it says so: no error, a cookie that is alive and was not there before the password
/// was posted, and either a page that only signed-in callers get, where one is configured, or a last page without any
/// field for a password (docs/decisions/0091).
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
    /// The cookie's value before the password was posted.
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
        return stage == .page ? post(now: now) : notePosted(response, now: now)
    }

    private mutating func post(now: WireDate) -> Step {
        stage = .form
        hops = 0
        valuesBefore = jar.values(of: settings.cookie, now: now)
        let fields = [(settings.userField, username), (settings.passwordField, password.reveal())]
        let form = FormFields(settings.extraFields + fields.map { (name: $0.0, value: $0.1) })
        return ask(UpstreamRequest(posting: form, to: settings.form), now: now)
    }

    /// A chain without end leads to no page, so there is no sign-in. That counts as a refusal: guesses must not be free.
    private mutating func follow(_ target: UpstreamAddress, now: WireDate) -> Step {
        hops += 1
        guard hops <= PortalSettings.maximumHops else {
            return stage == .form ? .refused : .failed("the portal redirects without end")
        }
        return ask(UpstreamRequest(.get, target), now: now)
    }

    /// The last answer to the form.
    private mutating func notePosted(_ response: UpstreamResponse, now: WireDate) -> Step {
        guard hasNewCookie(now) else { return .refused }
        if let proof = settings.proof {
            stage = .proof
            return ask(UpstreamRequest(.get, proof), now: now)
        }
        let isOut = response.status >= 400 || asksForPassword(response) || response.hasAttribute("type", "password")
        return isOut ? .refused : .signedIn(jar)
    }

    /// A redirect of the proving page leads to where one signs in.
    private func proven(by response: UpstreamResponse, now: WireDate) -> Step {
        response.isSuccess && hasNewCookie(now) && !asksForPassword(response) ? .signedIn(jar) : .refused
    }

    private func hasNewCookie(_ now: WireDate) -> Bool {
        let before = Set(valuesBefore.map { $0.reveal() })
        return jar.values(of: settings.cookie, now: now).contains { !before.contains($0.reveal()) }
    }

    /// Whether the page holds the form's own field for the password.
    private func asksForPassword(_ response: UpstreamResponse) -> Bool {
        response.hasAttribute("name", settings.passwordField)
    }

    private func ask(_ request: UpstreamRequest, now: WireDate) -> Step {
        var request = request
        request.fields["User-Agent"] = settings.userAgent
        request.fields["Cookie"] = jar.field(for: request.address, now: now)
        return .ask(request)
    }
}

extension UpstreamResponse {
    /// Whether an attribute of the page has that value, in any case, with either quote or none: `name="j_password"`. It
    /// looks at text as well: what a script writes into the page later may be the form.
    fileprivate func hasAttribute(_ name: String, _ value: String) -> Bool {
        // Of UTF-16 the zeros go.
        var rest = ArraySlice(body.lazy.filter { $0 != 0 }.map(Self.lowerCase))
        let (name, value) = (name.utf8.map(Self.lowerCase), value.utf8.map(Self.lowerCase))
        while let start = rest.firstIndex(where: { $0 == name.first }) {
            rest = rest[start...]
            if rest.starts(with: name), Self.isAssigned(value, rest.dropFirst(name.count)) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    private static func isAssigned(_ value: [UInt8], _ text: ArraySlice<UInt8>) -> Bool {
        let sign = text.drop(while: isSpace)
        guard sign.first == UInt8(ascii: "=") else { return false }
        let assigned = sign.dropFirst().drop { isSpace($0) || isQuote($0) }
        guard assigned.starts(with: value) else { return false }
        return assigned.dropFirst(value.count).first.map { isSpace($0) || isQuote($0) || "/>".utf8.contains($0) }
            ?? true
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    /// In a script the quote may have a backslash before it.
    private static func isQuote(_ byte: UInt8) -> Bool { "\"'\\".utf8.contains(byte) }

    private static func lowerCase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
    }
}
