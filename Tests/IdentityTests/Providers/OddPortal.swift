import AdapterKit
import Identity
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

/// A portal that answers its form oddly. It alone knows who is signed in there: whoever shows a ticket that it issued.
final class OddPortal: Sendable {
    /// How it answers the form. `$T` is a ticket: one that it issued where the password was right, otherwise one that
    /// nobody has.
    struct Behaviour: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var status = 200
        var cookies: [String] = []
        /// Where a redirect leads.
        var location: String?
        var body = "welcome"
        /// Whether a right password is a sign-in as browsers see it: a cookie is left.
        var leavesCookie = true
        /// Whether nothing in the answer tells it from a sign-in.
        var isIndistinguishable = false

        init(_ description: String, _ adjust: (inout Behaviour) -> Void) {
            testDescription = description
            adjust(&self)
        }
    }

    /// What is set before the form is sent.
    enum Page: CaseIterable { case none, session, oldTicket }
    /// How the proving page says that somebody is not signed in; nil: it is not configured.
    enum Proof: CaseIterable { case none, redirects, isUnauthorized, showsForm }

    static let form = "<form><input name=\"j_user\"><input type=password NAME = 'j_password'></form>"

    private struct State {
        var behaviour = OddPortal.plain
        var page = Page.none
        var proof = Proof.none
        var users: [String: String] = [:]
    }

    static let plain = Behaviour("a redirect with the cookie") {
        $0.status = 302
        $0.location = "/irj/welcome"
        $0.cookies = ["MYSAPSSO2=$T; Path=/"]
        $0.isIndistinguishable = true
    }

    private let state = Mutex(State())
    private let started = Mutex<StandIn?>(nil)

    static func start() async throws -> OddPortal {
        let portal = OddPortal()
        let server = try await StandIn { [unowned portal] in portal.answer(to: $0) }
        portal.started.withLock { $0 = server }
        return portal
    }

    var server: StandIn {
        guard let server = started.withLock({ $0 }) else { preconditionFailure("not started") }
        return server
    }

    func behave(_ behaviour: Behaviour, _ page: Page = .none, _ proof: Proof = .none) {
        state.withLock { ($0.behaviour, $0.page, $0.proof) = (behaviour, page, proof) }
    }

    /// As after its lifetime.
    func endSignIns() { state.withLock { $0.users = $0.users.mapValues { _ in "" } } }

    func settings(_ page: Page, _ proof: Proof) throws -> PortalSettings {
        guard let form = UpstreamAddress(server.address + "/irj/login") else { throw StandError() }
        var settings = PortalSettings(name: "corp", form: form)
        settings.page = page == .none ? nil : UpstreamAddress(server.address + "/irj/portal")
        settings.proof = proof == .none ? nil : UpstreamAddress(server.address + "/irj/me")
        return settings
    }

    private func answer(to request: StandIn.Request) -> StandIn.Answer {
        let (behaviour, page, proof) = state.withLock { ($0.behaviour, $0.page, $0.proof) }
        switch (request.method, request.path) {
        case ("GET", "/irj/portal"):
            let set = page == .oldTicket ? "MYSAPSSO2=anonymous; Path=/" : "JSESSIONID=1; Path=/irj"
            return .plain(200, [("Set-Cookie", set)], Self.form)
        case ("POST", "/irj/login"): return signIn(request, behaviour)
        case ("GET", "/irj/loop"): return .plain(302, [("Location", "/irj/loop")])
        case ("GET", "/irj/later"): return answer(behaviour, ticket(for: request), isLater: true)
        case ("GET", "/irj/welcome"): return .plain(200, [], "welcome")
        case ("GET", "/irj/login"): return .plain(200, [], Self.form)
        case ("GET", "/irj/me"):
            if let user = user(request) { return .plain(200, [], user) }
            switch proof {
            case .redirects, .none: return .plain(302, [("Location", "/irj/portal")])
            case .isUnauthorized: return .plain(401)
            case .showsForm: return .plain(200, [], Self.form)
            }
        default: return .plain(404)
        }
    }

    private func signIn(_ request: StandIn.Request, _ behaviour: Behaviour) -> StandIn.Answer {
        let form = ProviderStand.form(request.text)
        guard let user = form["j_user"], form["j_password"] == "right \(user)" else {
            return answer(behaviour, "stranger")
        }
        let ticket = state.withLock { state in
            state.users["ticket\(state.users.count)"] = user
            return "ticket\(state.users.count - 1)"
        }
        return answer(behaviour, ticket)
    }

    private func answer(_ behaviour: Behaviour, _ ticket: String, isLater: Bool = false) -> StandIn.Answer {
        if behaviour.location == "/irj/later", !isLater {
            return .plain(302, [("Location", "/irj/later"), ("Set-Cookie", "PASS=\(ticket); Path=/irj")])
        }
        var fields = behaviour.cookies.map {
            ("Set-Cookie", $0.replacing("$T", with: ticket).replacing("$H", with: "127.0.0.1"))
        }
        if let location = behaviour.location, !isLater { fields.append(("Location", location)) }
        return .plain(isLater ? 200 : behaviour.status, fields, behaviour.body)
    }

    private func ticket(for request: StandIn.Request) -> String { cookie("PASS", request).last ?? "stranger" }

    /// By any of the tickets that came, in quotes or not.
    private func user(_ request: StandIn.Request) -> String? {
        cookie("MYSAPSSO2", request).lazy.compactMap { ticket in self.state.withLock { $0.users[ticket] } }
            .first { !$0.isEmpty }
    }

    private func cookie(_ name: String, _ request: StandIn.Request) -> [String] {
        (request["Cookie"] ?? "").split(separator: "; ").filter { $0.hasPrefix("\(name)=") }.map {
            String($0.dropFirst(name.count + 1).replacing("\"", with: ""))
        }
    }
}

extension OddPortal {
    private static let past = [
        "Thu, 01 Jan 1970 00:00:01 GMT", "Thu, 01-Jan-1970 00:00:01 GMT", "Thursday, 01-Jan-70 00:00:01 GMT",
        "Thu Jan  1 00:00:01 1970", "1 JANUARY 1970 0:0:1", "Sun, 31-Dec-2000 23:59:59",
    ]
    private static let future = [
        "Fri, 01 Jan 2100 00:00:01 GMT", "Friday, 01-Jan-69 00:00:01 GMT", "Fri Jan  1 00:00:01 2100",
    ]

    /// Each is asked with right and with wrong passwords.
    static let behaviours: [Behaviour] =
        [plain]
        + past.map { date in
            Behaviour("deletes its cookie by Expires=\(date)") {
                $0.cookies = ["MYSAPSSO2=delete cookie!; expires=\(date); path=/"]
                $0.leavesCookie = false
            }
        }
        + future.map { date in
            Behaviour("a cookie until \(date)") {
                $0.cookies = ["MYSAPSSO2=$T; Expires=\(date); Path=/"]
                $0.isIndistinguishable = true
            }
        }
        + [
            ("by Max-Age=0", "x; Max-Age=0"), ("by Max-Age=-1", "x; Max-Age=-1"),
            ("by Max-Age before Expires", "x; Max-Age=0; Expires=\(future[0])"),
            ("by the last Max-Age", "x; Max-Age=100; Max-Age=0"), ("by no value", ""), ("by quotes", "\"\""),
            ("by Expires after a Max-Age that is none", "x; Max-Age=1h; Expires=\(past[0])"),
            ("for another domain", "$T; Domain=example.com"), ("for a top-level domain", "$T; Domain=com"),
            ("for a registry's domain", "$T; Domain=co.uk"), ("for a part of the address", "$T; Domain=0.0.1"),
            ("for encrypted connections only", "$T; Secure"),
        ].map { name, value in
            Behaviour("leaves no cookie, \(name)") {
                $0.cookies = ["MYSAPSSO2=\(value)"]
                $0.leavesCookie = false
            }
        }
        + [
            ("quoted", "\"$T\""), ("with Max-Age before Expires", "$T; Expires=\(past[0]); Max-Age=60"),
            ("with spaces and tabs", " $T ;\tPATH = / ; max-age = 60"), ("for its own address", "$T; Domain=$H"),
            ("with a date that is none", "$T; Expires=Thu, 31-Feb-1970 00:00:01 GMT"),
            ("with the last Expires", "$T; Expires=\(past[0]); Expires=\(future[0])"),
        ].map { name, value in
            Behaviour("a cookie, \(name)") {
                $0.cookies = ["MYSAPSSO2=\(value); Path=/"]
                $0.isIndistinguishable = true
            }
        }
        + [
            Behaviour("the form again") {
                $0.body = form
                $0.leavesCookie = false
            },
            Behaviour("the form again, with a cookie") {
                $0.body = form
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.leavesCookie = false
            },
            Behaviour("a redirect to itself") {
                $0.status = 302
                $0.location = "/irj/login"
                $0.leavesCookie = false
            },
            Behaviour("a redirect to the form, with a cookie") {
                $0.status = 302
                $0.location = "/irj/login"
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.leavesCookie = false
            },
            Behaviour("redirects without end") {
                $0.status = 302
                $0.location = "/irj/loop"
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.leavesCookie = false
            },
            Behaviour("a redirect that leads nowhere") {
                $0.status = 302
                $0.leavesCookie = false
            },
            Behaviour("a welcome without a cookie") { $0.leavesCookie = false },
            Behaviour("the old cookie once more") {
                $0.cookies = ["MYSAPSSO2=anonymous; Path=/"]
                $0.body = form
                $0.leavesCookie = false
            },
            Behaviour("a cookie without a name, one without a value, one of another case") {
                $0.cookies = ["=MYSAPSSO2", "MYSAPSSO2", "mysapsso2=$T", "OTHER=$T"]
                $0.leavesCookie = false
            },
            Behaviour("two cookies of the name, the second ends the first") {
                $0.cookies = ["MYSAPSSO2=$T; Path=/", "MYSAPSSO2=x; Path=/; Max-Age=0"]
                $0.leavesCookie = false
            },
            Behaviour("two cookies of the name, the second after the first has ended") {
                $0.cookies = ["MYSAPSSO2=x; Path=/; Max-Age=0", "MYSAPSSO2=$T; Path=/"]
                $0.isIndistinguishable = true
            },
            Behaviour("two cookies of the name, one ends at another path") {
                $0.cookies = ["MYSAPSSO2=$T; Path=/", "MYSAPSSO2=x; Path=/irj; Max-Age=0"]
                $0.isIndistinguishable = true
            },
            Behaviour("a cookie on a later redirect") {
                $0.location = "/irj/later"
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.isIndistinguishable = true
            },
            Behaviour("a cookie with 401") {
                $0.status = 401
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.leavesCookie = false
            },
            Behaviour("a cookie with 403") {
                $0.status = 403
                $0.cookies = ["MYSAPSSO2=$T; Path=/"]
                $0.leavesCookie = false
            },
        ]
}
