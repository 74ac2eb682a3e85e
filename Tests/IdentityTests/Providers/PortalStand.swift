import AdapterKit
import IPAddresses
import Identity
import Synchronization
import Upstream
import UpstreamStandIn

/// A portal of the kind that SAP's are, and a system behind it: a form that wants the page's cookie and a known user
/// agent, the sign-in's cookie on a redirect in between, tokens against cross-site requests that belong to that cookie.
final class PortalStand: Sendable {
    static let password = Secret("s3cret & söhne")

    struct State {
        var live: Set<String> = []
        var signIns = 0
        var writes = 0
        var isBroken = false
        /// Whether the system behind it takes every sign-in for ended.
        var knowsNobody = false
        /// Whether it takes no token, its own neither.
        var refusesTokens = false
        var password = PortalStand.password.reveal()
    }

    let state = Mutex(State())
    private let started = Mutex<StandIn?>(nil)

    static func start() async throws -> PortalStand {
        let stand = PortalStand()
        let server = try await StandIn { [unowned stand] in stand.answer(to: $0) }
        stand.started.withLock { $0 = server }
        return stand
    }

    var server: StandIn {
        guard let server = started.withLock({ $0 }) else { preconditionFailure("not started") }
        return server
    }

    func settings(_ adjust: (inout PortalSettings) -> Void = { _ in }) throws -> PortalSettings {
        guard let form = UpstreamAddress(server.address + "/irj/servlet/login") else { throw StandError() }
        var settings = PortalSettings(name: "corp", form: form)
        settings.page = UpstreamAddress(server.address + "/irj/portal")
        settings.userAgent = "Mozilla/4.0 (compatible; MSIE 7.0)"
        settings.extraFields = [(name: "login_submit", value: "on")]
        settings.roles.defaultRoles = ["member"]
        adjust(&settings)
        return settings
    }

    func upstream(also others: [String] = [], _ adjust: (inout UpstreamLimits) -> Void = { _ in }) -> HTTPUpstream {
        var settings = UpstreamSettings.loopback([server.address] + others, name: "portal")
        adjust(&settings.limits)
        return HTTPUpstream(settings, log: .discarding)
    }

    /// As after its lifetime.
    func endSignIns() { state.withLock { $0.live = [] } }

    private func answer(to request: StandIn.Request) -> StandIn.Answer {
        if state.withLock({ $0.isBroken }) { return .plain(500) }
        switch (request.method, request.path) {
        case ("GET", "/irj/portal"):
            return .plain(200, [("Set-Cookie", "JSESSIONID=page1; Path=/irj; HttpOnly")], "<form>")
        case ("POST", "/irj/servlet/login"): return signIn(request)
        case ("GET", "/irj/welcome"): return .plain(302, [("Location", "/irj/home")])
        case ("GET", "/irj/home"): return .plain(200, [], "welcome")
        case ("GET", "/sap/visit"): return .plain(200, [("Set-Cookie", "VISIT=1; Path=/sap")])
        case (_, "/sap/data"): return data(request)
        default: return .plain(404)
        }
    }

    private func signIn(_ request: StandIn.Request) -> StandIn.Answer {
        // Names in any case, as portals take them.
        let right = ["jdoe", "JDoe"].map {
            "login_submit=on&j_user=\($0)&j_password=" + FormFields.escape(state.withLock { $0.password })
        }
        guard request["Cookie"] == "JSESSIONID=page1", request["User-Agent"]?.contains("MSIE") == true,
            right.contains(request.text)
        else { return .plain(200, [], "<form> wrong") }
        let ticket = state.withLock { state in
            state.signIns += 1
            state.live.insert("ticket\(state.signIns)")
            return "ticket\(state.signIns)"
        }
        let cookie = "MYSAPSSO2=\(ticket); Path=/; HttpOnly"
        return .plain(302, [("Location", "/irj/welcome"), ("Set-Cookie", cookie)])
    }

    /// The system behind the portal.
    private func data(_ request: StandIn.Request) -> StandIn.Answer {
        let cookies = (request["Cookie"] ?? "").split(separator: "; ")
        let ticket = cookies.first { $0.hasPrefix("MYSAPSSO2=") }.map { String($0.dropFirst(10)) }
        guard let ticket, state.withLock({ !$0.knowsNobody && $0.live.contains(ticket) }) else {
            return request.method == "GET" ? .plain(302, [("Location", "/irj/portal?back=data")]) : .plain(401)
        }
        if request["X-CSRF-Token"]?.lowercased() == "fetch" { return .plain(200, [("x-csrf-token", "t-\(ticket)")]) }
        if request.method == "GET" { return .plain(200, [], "data for \(ticket)") }
        guard !state.withLock({ $0.refusesTokens }), request["X-CSRF-Token"] == "t-\(ticket)" else {
            return .plain(403, [("X-CSRF-Token", "Required")])
        }
        state.withLock { $0.writes += 1 }
        return .plain(201)
    }
}

struct StandError: Error {}
