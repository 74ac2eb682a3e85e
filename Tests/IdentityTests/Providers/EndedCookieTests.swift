import AdapterKit
import Identity
import Synchronization
import Testing

/// A portal that answers a wrong password by ending its cookie and showing a page without any form; so the cookie alone
/// decides.
@Suite struct EndedCookieTests {
    /// In each of the ways in which a cookie ends. `$NOW` is this very second.
    static let endings: [String] = {
        let lives = ["0", "-1", "-0", "00", "\"0\"", "-9223372036854775808", "-99999999999999999999999999"]
        let past = [
            "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01-Jan-1970 00:00:01 GMT", "Thursday, 01-Jan-70 00:00:01 GMT",
            "Thu Jan  1 00:00:01 1970", "1 JANUARY 1970 0:0:1", "Mon, 01 Jan 0001 00:00:00 GMT",
            "Fri, 31 Dec 1600 23:59:59 GMT", "\"Thu, 01 Jan 1970 00:00:00 GMT\"", "$NOW",
        ]
        let future = "Fri, 01 Jan 2100 00:00:01 GMT"
        let byLife = lives.flatMap { life in
            ["x; Max-Age=\(life)", "x; Expires=\(past[0]); max-age=\(life)", "x; Max-Age=\(life); Expires=\(future)"]
        }
        let byDate = past.flatMap { date in
            ["x; Expires=\(date)", "x; Max-Age=1h; Expires=\(date)", "x; Expires=\(future); Expires=\(date)"]
        }
        return byLife + byDate + ["", "\"\"", "x; Max-Age=60; Max-Age=0", "; Max-Age=60"]
    }()

    @Test func `of ten thousand wrong passwords none signs in, whatever the clock's fraction is`() async throws {
        let clock = FractionClock()
        let portal = EndingPortal(clock: clock)
        let provider = try await Self.provider(portal, clock)
        var accepted: [String: Int] = [:]
        for number in 0..<10_000 {
            let ending = Self.endings[number % Self.endings.count]
            portal.ending.withLock { $0 = ending }
            if ending.contains("$NOW") { clock.stop() } else { clock.move() }
            let verdict = try await provider.verify(.password(username: "victor", Secret("wrong \(number)")))
            if verdict != .refused { accepted[ending, default: 0] += 1 }
        }
        #expect(accepted.isEmpty)
        #expect(portal.guesses.withLock { $0 } == 10_000)
    }

    @Test func `the right password signs in at every fraction of a second`() async throws {
        let clock = FractionClock()
        let portal = EndingPortal(clock: clock)
        let provider = try await Self.provider(portal, clock)
        for ending in ["ticket", "ticket; Max-Age=1", "ticket; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60"] {
            portal.ending.withLock { $0 = ending }
            for _ in 0..<300 {
                clock.move()
                #expect(try await provider.verify(.password(username: "victor", Secret("right"))) != .refused)
            }
        }
    }

    private static func provider(_ portal: EndingPortal, _ clock: FractionClock) async throws -> any SignInProvider {
        let settings = PortalSettings(name: "corp", form: portal.url)
        let store = WatchedStore()
        try await store.install(Identity.collections())
        let identity = try await Identity(
            store: store, configuration: IdentityConfiguration(), clock: clock, randomness: SeededRandomness(),
            providers: [.portal(settings, portal)], log: .discarding)
        return try #require(identity.provider("corp"))
    }
}

/// A clock that stands still at a random fraction of a random second.
private final class FractionClock: WallClock {
    private struct State {
        var random = SeededRandom(seed: 35)
        var now = WireDate(secondsSinceReferenceDate: 8e8)
    }

    private let state = Mutex(State())

    func now() -> WireDate { state.withLock { $0.now } }

    /// To another moment of the years from 2026.
    func move() {
        state.withLock { state in
            let second = Double(state.random.next() >> 37)
            let fraction = Double(state.random.next() >> 11) / Double(1 << 53)
            state.now = WireDate(secondsSinceReferenceDate: 8e8 + second + fraction)
        }
    }

    /// At the beginning of a second.
    func stop() {
        move()
        state.withLock { $0.now = WireDate(secondsSinceReferenceDate: $0.now.secondsSinceReferenceDate.rounded(.down)) }
    }
}

private final class EndingPortal: Upstream {
    let name: UpstreamName = "portal"
    let url: UpstreamAddress
    let actsForCallers = false
    let clock: FractionClock
    let ending = Mutex("")
    let guesses = Mutex(0)

    init(clock: FractionClock) {
        self.clock = clock
        guard let url = UpstreamAddress("https://portal.example.com/login") else { preconditionFailure("no address") }
        self.url = url
    }

    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse {
        guesses.withLock { $0 += 1 }
        let now = clock.now().rfc3339.flatMap { Self.cookieDate($0) } ?? ""
        let value = ending.withLock { $0 }.replacing("$NOW", with: now)
        return UpstreamResponse(
            address: request.address, status: 200,
            fields: UpstreamHeaders([(name: "Set-Cookie", value: "MYSAPSSO2=\(value); Path=/")]), body: [])
    }

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        throw UpstreamFailure(.broken, of: name)
    }

    /// `2026-11-21T08:03:02Z` as `21 Nov 2026 08:03:02 GMT`.
    private static func cookieDate(_ text: String) -> String? {
        let parts = text.split { "-T:Z".contains($0) }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 6, let month = Int(parts[1]) else { return nil }
        return "\(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }
}
