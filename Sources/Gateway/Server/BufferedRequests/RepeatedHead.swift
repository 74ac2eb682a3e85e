import HTTPTypes
import NIOHTTP1

/// The head of a connection's last request, as the gateway read it. The next request mostly brings the same fields,
/// which is what HPACK's table lives on (RFC 7541, section 1), and an app that asks for news the same address.
///
/// What is remembered is how bytes are read, never what they are worth: who may do what is asked with every request.
struct RepeatedHead {
    /// What the fields tell, the address apart.
    final class Said {
        /// Without the host.
        let fields: HTTPFields
        let peer: String
        let origin: String

        init(fields: HTTPFields, peer: String, origin: String) {
            self.fields = fields
            self.peer = peer
            self.origin = origin
        }
    }

    /// Bytes of the fields. Longer ones are read anew: an idle connection holds what is remembered.
    static let longest = 4 << 10

    private var last: (headers: HTTPHeaders, said: Said)?
    private var lastTarget: RequestTarget?
    private var lastPlace: (method: HTTPRequest.Method, target: RequestTarget, match: RouteMatch)?

    /// What the last head's fields told, where these are the same.
    func repeated(by headers: HTTPHeaders) -> Said? {
        guard let last, Self.areSame(last.headers, headers) else { return nil }
        return last.said
    }

    mutating func remember(_ said: Said, of headers: HTTPHeaders) {
        last = Self.length(headers) <= Self.longest ? (headers, said) : nil
    }

    /// Nil where the address is not well-formed.
    mutating func target(of uri: String) -> RequestTarget? {
        if let lastTarget, lastTarget.text == uri { return lastTarget }
        let target = RequestTarget(uri)
        lastTarget = uri.utf8.count <= Self.longest ? target : nil
        return target
    }

    /// Where the address leads. A connection has one table of routes as long as it lasts.
    mutating func match(_ method: HTTPRequest.Method, _ target: RequestTarget, in routes: RouteTable) -> RouteMatch {
        if let lastPlace, lastPlace.target === target, lastPlace.method == method { return lastPlace.match }
        let match = routes.match(method, target.segments)
        lastPlace = lastTarget === target ? (method, target, match) : nil
        return match
    }

    /// Values may be credentials of several people behind one proxy, so all are compared, and whole.
    private static func areSame(_ left: HTTPHeaders, _ right: HTTPHeaders) -> Bool {
        guard left.count == right.count else { return false }
        var areSame = true
        for (left, right) in zip(left, right) {
            if left.name != right.name || !left.value.isSameInConstantTime(as: right.value) { areSame = false }
        }
        return areSame
    }

    private static func length(_ headers: HTTPHeaders) -> Int {
        headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}

extension HTTPFields {
    /// Nil where one has a name that is none.
    init?(withoutHost headers: HTTPHeaders) {
        self.init()
        reserveCapacity(headers.count)
        for (name, value) in headers where !name.isEqualCaseInsensitive("host") {
            // Cannot trap: the decoder counts the fields.
            guard let name = HTTPField.Name(name) else { return nil }
            append(HTTPField(name: name, value: value))
        }
    }
}
