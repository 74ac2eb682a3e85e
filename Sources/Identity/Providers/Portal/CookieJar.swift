import AdapterKit

/// The cookies of one person at one upstream. A value: two tasks never see half of a change.
struct CookieJar: Sendable, Equatable {
    /// More than that are not kept; the oldest go.
    static let maximumCookies = 50

    private var cookies: [UpstreamCookie] = []

    /// Takes what an answer sets; an empty or ended cookie removes the one it replaces.
    mutating func note(_ response: UpstreamResponse, now: WireDate) {
        for field in response.fields.values("Set-Cookie") {
            guard let cookie = UpstreamCookie(field, from: response.address, now: now) else { continue }
            cookies.removeAll { cookie.hasPlace(of: $0) }
            if cookie.isLive(now), !cookie.value.reveal().isEmpty { cookies.append(cookie) }
        }
        // Cannot trap: no more than there are.
        cookies.removeFirst(max(0, cookies.count - Self.maximumCookies))
    }

    func holds(_ name: String, now: WireDate) -> Bool {
        cookies.contains { $0.name == name && $0.isLive(now) }
    }

    /// One `Cookie` field, the longest paths first; nil where no cookie is meant for the address.
    func field(for address: UpstreamAddress, now: WireDate) -> String? {
        let sent = cookies.filter { $0.isSent(to: address, now: now) }.sorted { $0.path.count > $1.path.count }
        return sent.isEmpty ? nil : sent.map { "\($0.name)=\($0.value.reveal())" }.joined(separator: "; ")
    }
}
