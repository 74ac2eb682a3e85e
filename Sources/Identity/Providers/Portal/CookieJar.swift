import AdapterKit

/// The cookies of one person at one upstream. A value: two tasks never see half of a change.
struct CookieJar: Sendable, Equatable {
    /// More than that are not kept; the oldest go.
    static let maximumCookies = 50

    /// In the order in which they were first set.
    private var cookies: [UpstreamCookie] = []

    /// Takes what an answer sets (RFC 6265, section 5.3): a cookie that has ended removes the one it replaces.
    mutating func note(_ response: UpstreamResponse, now: WireDate) {
        for field in response.fields.values("Set-Cookie") {
            guard let cookie = UpstreamCookie(field, from: response.address, now: now),
                !cookies.contains(where: { cookie.overrides(secure: $0) })
            else { continue }
            let place = cookies.firstIndex { cookie.hasPlace(of: $0) }
            if let place, cookie.isLive(now) {
                cookies[place] = cookie
            } else if let place {
                cookies.remove(at: place)
            } else if cookie.isLive(now) {
                cookies.append(cookie)
            }
        }
        if cookies.count > Self.maximumCookies { cookies.removeAll { !$0.isLive(now) } }
        // Cannot trap: no more than there are.
        cookies.removeFirst(max(0, cookies.count - Self.maximumCookies))
    }

    /// What the cookies of that name say that are alive and say something.
    func values(of name: String, now: WireDate) -> [Secret] {
        cookies.filter { $0.name == name && $0.isLive(now) && $0.hasValue }.map(\.value)
    }

    /// One `Cookie` field, the longest paths first, then the oldest; nil where no cookie is meant for the address.
    func field(for address: UpstreamAddress, now: WireDate) -> String? {
        let sent = cookies.enumerated().filter { $0.element.isSent(to: address, now: now) }
            .sorted { (-$0.element.path.utf8.count, $0.offset) < (-$1.element.path.utf8.count, $1.offset) }
            .map(\.element)
        return sent.isEmpty ? nil : sent.map { "\($0.name)=\($0.value.reveal())" }.joined(separator: "; ")
    }
}
