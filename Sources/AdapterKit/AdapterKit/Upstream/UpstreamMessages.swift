/// Header fields in their order; names are found whatever their case.
public struct UpstreamFields: Sendable, ExpressibleByDictionaryLiteral {
    public private(set) var all: [(name: String, value: String)]

    public init(_ all: [(name: String, value: String)] = []) {
        self.all = all
    }

    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    public func values(_ name: String) -> [String] {
        all.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The first of that name; setting one replaces them all.
    public subscript(name: String) -> String? {
        get { values(name).first }
        set {
            all.removeAll { $0.name.lowercased() == name.lowercased() }
            if let newValue { all.append((name: name, value: newValue)) }
        }
    }
}

/// What another system is asked.
public struct UpstreamRequest: Sendable {
    public enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// What becomes of an answer that says to ask elsewhere.
    public enum Redirects: Sendable, Equatable {
        /// It is the answer.
        case returned
        /// Followed to servers that this upstream may reach, as often as its limit allows; credentials stay with the
        /// server that they were meant for.
        case followed
    }

    public var method: Method
    public var address: UpstreamAddress
    public var fields: UpstreamFields
    public var body: [UInt8]
    public var redirects = Redirects.returned
    /// Whether asking twice does no harm (RFC 9110, section 9.2.2): such a request is tried again. A `POST` that only
    /// reads may say so.
    public var isIdempotent: Bool
    /// Shorter than the upstream's own; nil: that one.
    public var deadline: Duration?

    public init(
        _ method: Method, _ address: UpstreamAddress, fields: UpstreamFields = UpstreamFields(), body: [UInt8] = []
    ) {
        self.method = method
        self.address = address
        self.fields = fields
        self.body = body
        isIdempotent = method != .post && method != .patch
    }

    /// A form, posted.
    public init(posting form: FormFields, to address: UpstreamAddress) {
        self.init(
            .post, address, fields: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(form.encoded.utf8))
    }
}

/// What it answered, whole.
public struct UpstreamResponse: Sendable {
    /// From where, once redirects were followed.
    public let address: UpstreamAddress
    public let status: Int
    public let fields: UpstreamFields
    public let body: [UInt8]

    public init(address: UpstreamAddress, status: Int, fields: UpstreamFields, body: [UInt8]) {
        self.address = address
        self.status = status
        self.fields = fields
        self.body = body
    }

    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Where a redirect leads (RFC 9110, section 15.4); nil where this is none, or leads nowhere.
    public var redirect: UpstreamAddress? {
        guard [301, 302, 303, 307, 308].contains(status) else { return nil }
        return fields["Location"].flatMap(address.resolving)
    }
}
