import AdapterKit

/// One cookie as another system set it (RFC 6265, sections 5.2 and 5.3; the rules on `Secure` and on names with a prefix
/// are those of RFC 6265bis, sections 5.6 and 5.7).
struct UpstreamCookie: Sendable, Equatable {
    let name: String
    let value: Secret
    /// Lower case.
    let domain: String
    /// Whether only the very host that set it gets it back.
    let isHostOnly: Bool
    let path: String
    let isSecure: Bool
    /// Nil: when the sign-in ends.
    let expires: UnixTime?
    /// Whether a server without TLS set it.
    private let isFromPlainHTTP: Bool

    /// Nil for what is no cookie, is too large, or is set for other servers.
    init?(_ field: String, from address: UpstreamAddress, now: UnixTime) {
        guard field.utf8.count <= Self.maximumBytes, field.utf8.allSatisfy(Self.isAllowed) else { return nil }
        let pieces = field.split(separator: ";", omittingEmptySubsequences: false).map { Self.pair($0) }
        guard let (name, value) = pieces.first, let value, !name.isEmpty else { return nil }
        let attributes = Attributes(pieces.dropFirst(), now: now)
        let host = address.origin.host
        guard let domain = Self.domain(attributes.domain, host: host) else { return nil }
        self.name = name
        self.value = Secret(value)
        self.domain = domain.name
        isHostOnly = domain.isHostOnly
        isSecure = attributes.isSecure
        path = attributes.path ?? Self.defaultPath(address)
        expires = attributes.lifeEnds ?? attributes.expires
        isFromPlainHTTP = !address.origin.isSecure
        guard !isSecure || address.origin.isSecure, keepsItsPrefix else { return nil }
    }

    func isSent(to address: UpstreamAddress, now: UnixTime) -> Bool {
        let host = address.origin.host
        let reachesHost = host == domain || (!isHostOnly && Self.isWithin(host, domain))
        return reachesHost && (address.origin.isSecure || !isSecure) && isLive(now) && reachesPath(String(address.path))
    }

    /// A cookie whose end is now has ended.
    func isLive(_ now: UnixTime) -> Bool { expires.map { now < $0 } ?? true }

    /// Whether it says something: neither empty nor a pair of quotes with nothing between them.
    var hasValue: Bool { value.reveal().utf8.contains { $0 != UInt8(ascii: "\"") } }

    /// Whether setting this one replaces the other.
    func hasPlace(of other: UpstreamCookie) -> Bool {
        name == other.name && domain == other.domain && path == other.path
    }

    /// Whether a server without TLS would take the place of a cookie that one with TLS keeps for itself.
    func overrides(secure other: UpstreamCookie) -> Bool {
        isFromPlainHTTP && other.isSecure && name == other.name
            && (Self.isWithin(domain, other.domain) || Self.isWithin(other.domain, domain))
    }

    private func reachesPath(_ other: String) -> Bool {
        other == path
            || (other.utf8.starts(with: path.utf8)
                && (path.utf8.last == UInt8(ascii: "/")
                    || other.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")))
    }

    private var keepsItsPrefix: Bool {
        let name = name.lowercased()
        if name.hasPrefix("__host-") { return isSecure && isHostOnly && path == "/" }
        return !name.hasPrefix("__secure-") || isSecure
    }

    private static let maximumBytes = 8192

    /// Tabs and what is beyond ASCII are allowed, other control characters are not.
    private static func isAllowed(_ byte: UInt8) -> Bool { byte == 0x09 || (byte >= 0x20 && byte != 0x7f) }

    private static func pair(_ text: Substring) -> (name: String, value: String?) {
        let pieces = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { trimmed($0) }
        return (pieces.first ?? "", pieces.count > 1 ? pieces[1] : nil)
    }

    private static func trimmed(_ text: Substring) -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        let start = text.drop(while: isSpace)
        return String(start.prefix(start.count - start.reversed().prefix(while: isSpace).count))
    }

    /// RFC 6265, section 5.1.4.
    private static func defaultPath(_ address: UpstreamAddress) -> String {
        let folder = address.path.prefix(upTo: address.path.lastIndex(of: "/") ?? address.path.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }
}

extension UpstreamCookie {
    /// RFC 6265, sections 5.2.1 to 5.2.5: of an attribute that stands there more than once the last valid one counts, and
    /// `Max-Age` before `Expires`.
    private struct Attributes {
        var expires: UnixTime?
        var lifeEnds: UnixTime?
        var domain: String?
        var path: String?
        var isSecure = false

        init(_ pieces: some Sequence<(name: String, value: String?)>, now: UnixTime) {
            for piece in pieces {
                let value = piece.value ?? ""
                switch piece.name.lowercased() {
                case "expires": expires = CookieDate.parse(value) ?? expires
                case "max-age": lifeEnds = Self.end(ofLife: value, now: now) ?? lifeEnds
                case "domain": domain = value.isEmpty ? domain : value.lowercased()
                case "path": path = value.hasPrefix("/") ? value : nil
                case "secure": isSecure = true
                default: break
                }
            }
        }

        /// Whole seconds, also in quotes; zero and less are the earliest instant there is (RFC 6265, section 5.2.2). Nil
        /// for any other text.
        private static func end(ofLife text: String, now: UnixTime) -> UnixTime? {
            let isQuoted = text.utf8.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"")
            let number = isQuoted ? text.dropFirst().dropLast() : text[...]
            let isNegative = number.hasPrefix("-")
            let digits = isNegative ? number.dropFirst() : number
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            // Digits that are no number are too many for one.
            let seconds = min(Int(digits) ?? .max, longestLife)
            return isNegative || seconds == 0 ? .distantPast : now + .seconds(seconds)
        }

        private static let longestLife = 400 * 86_400
    }

    /// The host itself, or a domain that the host is in and that one registers; never an address, which has no
    /// subdomains. Nil where the cookie is for servers that are not the host's own.
    private static func domain(_ attribute: String?, host: String) -> (name: String, isHostOnly: Bool)? {
        guard let text = attribute else { return (host, true) }
        let domain = text.hasPrefix(".") ? String(text.dropFirst()) : text
        if domain == host { return (host, isPublic(domain)) }
        let isAddress = host.contains(":") || host.utf8.allSatisfy { $0 == 0x2e || ($0 >= 0x30 && $0 <= 0x39) }
        return !isAddress && isWithin(host, domain) && !isPublic(domain) ? (domain, false) : nil
    }

    private static func isWithin(_ host: String, _ domain: String) -> Bool {
        host == domain || host.hasSuffix("." + domain)
    }

    /// Whether strangers register names below it: `com`, `co.uk`. A rule of thumb instead of the public suffix list:
    /// cookies go to the portal's configured servers only, whatever their domain (docs/decisions/0091).
    private static func isPublic(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count < 2 || labels.contains("") { return true }
        let registries: Set<Substring> = ["ac", "co", "com", "edu", "gob", "gov", "gv", "ne", "net", "or", "org"]
        return labels.count == 2 && labels[1].utf8.count == 2 && registries.contains(labels[0])
    }
}

/// The cookies of one person at one upstream. A value: two tasks never see half of a change.
package struct CookieJar: Sendable, Equatable {
    /// More than that are not kept; the oldest go.
    static let maximumCookies = 50

    /// In the order in which they were first set.
    private var cookies: [UpstreamCookie] = []

    package init() {}

    /// Takes what an answer sets (RFC 6265, section 5.3): a cookie that has ended removes the one it replaces.
    package mutating func note(_ response: UpstreamResponse, now: WireDate) {
        let now = UnixTime(now)
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

    /// The values of the cookies of that name that are alive and not empty.
    package func values(of name: String, now: WireDate) -> [Secret] {
        let now = UnixTime(now)
        return cookies.filter { $0.name == name && $0.isLive(now) && $0.hasValue }.map(\.value)
    }

    /// One `Cookie` field, the longest paths first, then the oldest; nil where no cookie is meant for the address.
    package func field(for address: UpstreamAddress, now: WireDate) -> String? {
        let now = UnixTime(now)
        let sent = cookies.enumerated().filter { $0.element.isSent(to: address, now: now) }
            .sorted { (-$0.element.path.utf8.count, $0.offset) < (-$1.element.path.utf8.count, $1.offset) }
            .map(\.element)
        return sent.isEmpty ? nil : sent.map { "\($0.name)=\($0.value.reveal())" }.joined(separator: "; ")
    }
}

/// The date of a cookie's `Expires` attribute, read as browsers read it (RFC 6265, section 5.1.1): every form that HTTP
/// ever had, and whatever else holds a time of day, a day, a month and a year.
package enum CookieDate {
    /// Nil for a text that is no such date.
    package static func parse(_ text: String) -> UnixTime? {
        var found = Parts()
        for token in text.utf8.split(whereSeparator: isDelimiter) { found.take(token) }
        return found.date
    }

    /// The parts that were found so far: the first token that fits counts, as the algorithm says.
    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        mutating func take(_ token: Substring.UTF8View) {
            if time == nil, let found = CookieDate.time(token) {
                time = found
            } else if day == nil, let found = CookieDate.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = CookieDate.month(token) {
                month = found
            } else if year == nil, let found = CookieDate.number(token, digits: 2...4) {
                year = CookieDate.fullYear(found)
            }
        }

        /// Nil for a day that the month does not have. A year before 1601, for which RFC 6265 reads no date, is past as
        /// later ones are: a cookie that is to be kept has no such date.
        var date: UnixTime? {
            guard let time, let day, let month, let year,
                let civil = CivilTime(
                    year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
            else { return nil }
            return UnixTime(WireDate(secondsSinceReferenceDate: Double(civil.secondsSinceReferenceDate)))
        }
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Digits at the token's beginning; what follows them must not be one.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix { (0x30...0x39).contains($0) }
        guard digits.contains(leading.count) else { return nil }
        return Int(Substring(leading))
    }

    private static func time(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, (1...2).contains(fields[0].count), (1...2).contains(fields[1].count),
            let hour = Int(Substring(fields[0])), let minute = Int(Substring(fields[1])), hour >= 0, minute >= 0,
            let second = number(fields[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: Substring.UTF8View) -> Int? {
        let name = Substring(token.prefix(3)).lowercased()
        return months.firstIndex(of: name).map { $0 + 1 }
    }

    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
