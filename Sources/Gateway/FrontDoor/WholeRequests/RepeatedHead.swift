import HTTPTypes
import NIOHTTP1

/// The head of a connection's last request, as the gateway read it. The next request mostly brings the same fields,
/// which is what HPACK's table lives on (RFC 7541, section 1), and an app that asks for news the same address.
///
/// What is remembered is how bytes are read, never what they are worth: who may do what is asked with every request.
struct RepeatedHead {
    /// Bytes of the fields. Longer ones are read anew: an idle connection holds what is remembered.
    static let longest = 4 << 10

    private var last: (headers: HTTPHeaders, fields: HTTPFields)?
    private var lastTarget: RequestTarget?

    /// The fields without the host. Nil where one has a name that is none.
    mutating func fields(of headers: HTTPHeaders) -> HTTPFields? {
        if let last, Self.areSame(last.headers, headers) { return last.fields }
        guard let fields = HTTPFields(withoutHost: headers) else { return nil }
        last = Self.length(headers) <= Self.longest ? (headers, fields) : nil
        return fields
    }

    /// Nil where the address is not well-formed.
    mutating func target(of uri: String) -> RequestTarget? {
        if let lastTarget, lastTarget.text == uri { return lastTarget }
        let target = RequestTarget(uri)
        lastTarget = uri.utf8.count <= Self.longest ? target : nil
        return target
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
    fileprivate init?(withoutHost headers: HTTPHeaders) {
        self.init()
        reserveCapacity(headers.count)
        for (name, value) in headers where !name.isEqualCaseInsensitive("host") {
            guard let name = HTTPField.Name(name) else { return nil }
            append(HTTPField(name: name, value: value))
        }
    }
}
