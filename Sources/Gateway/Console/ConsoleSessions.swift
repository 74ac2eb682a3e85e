import AdapterKit
import Crypto
import Identity
import Synchronization
import ValueTree

/// Who signed in at the console, and what that rests on.
enum ConsoleSubject: Sendable, Hashable {
    case account(AccountProof)
    /// A token that is revoked and made anew is another one.
    case token(AdminToken)
    /// SHA-256 of the certificate (DER).
    case certificate([UInt8])
    /// A one-time link.
    case link
}

/// One sign-in at the console.
struct ConsoleSession: Sendable {
    let subject: ConsoleSubject
    /// In audit entries.
    let actor: String
    let name: String
    /// It ends where this is not the subject's role any more.
    let role: AdminRole
    let began: WireDate
    fileprivate(set) var lastUsed: WireDate
    /// Where the sign-in came from: the network, and what the browser says that it is.
    let origin: Origin

    struct Origin: Sendable {
        var address = ""
        var agent = ""
    }
}

/// The sign-ins of the console under way, the links that begin one, and what was confirmed. A state machine without effects.
///
/// All of it is in memory, as digests of random secrets: a restart ends every session.
struct ConsoleSessionTable: Sendable {
    /// Seconds, whatever is done.
    static let lifetime = 8.0 * 3_600
    /// Seconds without a request of a person.
    static let idle = 30.0 * 60
    static let linkLifetime = 10.0 * 60
    static let confirmationLifetime = 2.0 * 60
    static let most = 1_000
    /// Of one subject; the oldest one ends with one more.
    static let mostOfSubject = 20
    static let mostLinks = 20

    private typealias Digest = [UInt8]

    private struct Entry: Sendable {
        var session: ConsoleSession
        var confirmation: (digest: Digest, at: WireDate)?
    }

    private var entries: [Digest: Entry] = [:]
    /// When each was made.
    private var links: [Digest: WireDate] = [:]

    var count: Int { entries.count }

    /// Throws `server.overloaded` where too many are under way.
    mutating func begin(
        _ subject: ConsoleSubject, actor: String, name: String, role: AdminRole, secret: Secret,
        from origin: ConsoleSession.Origin = ConsoleSession.Origin(), at now: WireDate
    ) throws(PorticoError) {
        removeEnded(at: now)
        let own = entries.filter { $0.value.session.subject == subject }
        if own.count >= Self.mostOfSubject,
            let oldest = own.min(by: { $0.value.session.began < $1.value.session.began })
        {
            entries[oldest.key] = nil
        }
        guard entries.count < Self.most else {
            throw PorticoError(.overloaded, "Too many are signed in at the console.", retryAfter: 60)
        }
        let session = ConsoleSession(
            subject: subject, actor: actor, name: name, role: role, began: now, lastUsed: now, origin: origin)
        entries[Self.digest(secret)] = Entry(session: session)
    }

    /// Nil where there is none, or it has ended. `isActivity`: a person asks, not a page that repeats itself.
    mutating func find(_ secret: Secret, isActivity: Bool, at now: WireDate) -> ConsoleSession? {
        let digest = Self.digest(secret)
        guard let entry = entries[digest] else { return nil }
        guard Self.isUnderWay(entry.session, at: now) else {
            entries[digest] = nil
            return nil
        }
        if isActivity { entries[digest]?.session.lastUsed = now }
        return entry.session
    }

    /// Those of an account that are under way, the latest first, each with what names it to ``end(_:ofAccount:)``.
    mutating func sessions(ofAccount actor: String, at now: WireDate) -> [(id: String, session: ConsoleSession)] {
        removeEnded(at: now)
        return entries.filter { $0.value.session.isOfAccount(actor) }
            .map { (id: Self.id($0.key), session: $0.value.session) }.sorted { $0.session.began > $1.session.began }
    }

    /// Ends one of an account's sessions; nil: all of them.
    mutating func end(_ id: String?, ofAccount actor: String) {
        for (key, entry) in entries where entry.session.isOfAccount(actor) && (id ?? Self.id(key)) == Self.id(key) {
            entries[key] = nil
        }
    }

    /// Returns the session that ended.
    @discardableResult mutating func end(_ secret: Secret) -> ConsoleSession? {
        entries.removeValue(forKey: Self.digest(secret))?.session
    }

    /// The next action of the session that asks for it is confirmed by `confirmation`, once.
    mutating func confirm(_ secret: Secret, _ confirmation: Secret, at now: WireDate) {
        entries[Self.digest(secret)]?.confirmation = (Self.digest(confirmation), now)
    }

    /// Whether it was given to this session and not used yet. Uses it.
    mutating func useConfirmation(_ confirmation: Secret, of secret: Secret, at now: WireDate) -> Bool {
        let digest = Self.digest(secret)
        guard let known = entries[digest]?.confirmation, known.digest == Self.digest(confirmation),
            Self.isWithin(Self.confirmationLifetime, since: known.at, at: now)
        else { return false }
        entries[digest]?.confirmation = nil
        return true
    }

    /// The oldest of too many does not hold any more.
    mutating func addLink(_ secret: Secret, at now: WireDate) {
        removeEnded(at: now)
        if links.count >= Self.mostLinks, let oldest = links.min(by: { $0.value < $1.value }) {
            links[oldest.key] = nil
        }
        links[Self.digest(secret)] = now
    }

    /// Whether it is a link's and not used yet. Uses it.
    mutating func useLink(_ secret: Secret, at now: WireDate) -> Bool {
        guard let made = links.removeValue(forKey: Self.digest(secret)) else { return false }
        return Self.isWithin(Self.linkLifetime, since: made, at: now)
    }

    private mutating func removeEnded(at now: WireDate) {
        entries = entries.filter { Self.isUnderWay($0.value.session, at: now) }
        links = links.filter { Self.isWithin(Self.linkLifetime, since: $0.value, at: now) }
    }

    private static func isUnderWay(_ session: ConsoleSession, at now: WireDate) -> Bool {
        isWithin(lifetime, since: session.began, at: now) && isWithin(idle, since: session.lastUsed, at: now)
    }

    /// Not where the clock was put back either.
    private static func isWithin(_ seconds: Double, since start: WireDate, at now: WireDate) -> Bool {
        let passed = now.secondsSinceReferenceDate - start.secondsSinceReferenceDate
        return passed >= 0 && passed < seconds
    }

    private static func digest(_ secret: Secret) -> Digest {
        Array(SHA256.hash(data: Array(secret.reveal().utf8)))
    }

    /// Names a session to operators: which says nothing of its secret.
    private static func id(_ digest: Digest) -> String { Base64URL.encode(Array(digest.prefix(12))) }
}

extension ConsoleSession {
    fileprivate func isOfAccount(_ id: String) -> Bool {
        guard case .account = subject else { return false }
        return actor == id
    }
}

/// What of the console outlives configurations: who is signed in, and where the admin listener listens.
public final class ConsoleState: Sendable {
    public let port = ListeningPort()
    private let table = Mutex(ConsoleSessionTable())

    public init() {}

    func withTable<Result: Sendable, Failure: Error>(
        _ body: (inout ConsoleSessionTable) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try table.withLock { table throws(Failure) in try body(&table) }
    }
}

/// How the console is configured.
public struct ConsoleSettings: Sendable {
    /// `admin.roles`: what accounts may do there, by their roles.
    public var roles: [RoleName: AdminRole]
    /// `identity.demoAccounts`, whose passwords are public: they never sign in.
    public var demoAccounts: Set<AccountName>
    /// Whether the admin listener has TLS.
    public var isSecure: Bool
    /// Of the admin listener, in links.
    public var host: String
    /// The files of the page.
    public var pages: [PageFile]

    public init(
        roles: [RoleName: AdminRole] = [:], demoAccounts: Set<AccountName> = [], isSecure: Bool = false,
        host: String = "127.0.0.1", pages: [PageFile] = []
    ) {
        (self.roles, self.demoAccounts, self.isSecure) = (roles, demoAccounts, isSecure)
        (self.host, self.pages) = (host, pages)
    }

    /// The most that one of the roles may do; nil: nothing.
    func role(of roles: Set<RoleName>) -> AdminRole? { roles.compactMap { self.roles[$0] }.max() }

    var cookie: ConsoleCookie { ConsoleCookie(isSecure: isSecure) }
}
