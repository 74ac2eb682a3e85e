/// Names another system in configuration, logs and error messages: `[a-z][a-z0-9-]*`, at most 40 characters.
public struct UpstreamName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { AdapterName.isValid(text) }
}

/// Header fields in their order; names are found whatever their case.
public struct UpstreamHeaders: Sendable, ExpressibleByDictionaryLiteral {
    /// The fields in order.
    public private(set) var all: [(name: String, value: String)]

    /// Creates header fields with these values.
    public init(_ all: [(name: String, value: String)] = []) {
        self.all = all
    }

    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    /// The values of all fields with this name, in order.
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

/// A request to another system.
public struct UpstreamRequest: Sendable {
    /// The methods that an upstream is called with.
    public enum Method: String, Sendable {
        /// Reads.
        case get = "GET"
        /// Reads the header fields alone.
        case head = "HEAD"
        /// Performs an operation.
        case post = "POST"
        /// Replaces a resource.
        case put = "PUT"
        /// Changes parts of a resource.
        case patch = "PATCH"
        /// Removes a resource.
        case delete = "DELETE"
    }

    /// The treatment of an answer that says to ask elsewhere.
    public enum Redirects: Sendable, Equatable {
        /// It is the answer.
        case returned
        /// Followed to servers that this upstream may reach, as often as its limit allows; credentials stay with the
        /// server that they were meant for.
        case followed
    }

    /// The method.
    public var method: Method
    /// The address that is called.
    public var address: UpstreamAddress
    /// The header fields, without those of the connection.
    public var fields: UpstreamHeaders
    /// The body; empty: none.
    public var body: [UInt8]
    /// Sent instead of ``body``, by pieces as fast as they are taken. Such a request is sent once: it is neither
    /// retried nor redirected.
    public var streamedBody: (any ByteStream)?
    /// The treatment of a response that redirects.
    public var redirects = Redirects.returned
    /// Whether asking twice does no harm (RFC 9110, section 9.2.2): such a request is tried again. A `POST` that only
    /// reads may say so.
    public var isIdempotent: Bool
    /// The longest time of the whole call, the reading of a streamed body included; nil: the upstream's own `deadline`.
    /// A long read that no caller waits for asks for more, up to the upstream's `limits.longDeadline`.
    public var deadline: Duration?
    /// The largest body of the answer in bytes, after decompression; nil, or more than the upstream's `limits.answer`:
    /// that one.
    public var answerLimit: Int?
    /// Names of fields that hold credentials. They are sent to the server of ``address`` alone, whatever redirects say.
    /// `Authorization`, `Cookie`, `Proxy-Authorization` and `X-CSRF-Token` are always such.
    public var secretFields: [String] = []
    /// Whether a body whose `Content-Type` names another character set arrives in UTF-8; see ``CharacterSetDecoder``.
    /// An unknown set is ``UpstreamFailure/Kind/broken``.
    public var convertsToUTF8 = false

    /// Creates an upstream request with these values.
    public init(
        _ method: Method, _ address: UpstreamAddress, fields: UpstreamHeaders = UpstreamHeaders(), body: [UInt8] = []
    ) {
        self.method = method
        self.address = address
        self.fields = fields
        self.body = body
        isIdempotent = method != .post && method != .patch
    }

    /// Asks for the body only where it is another one than that of `response`: by its `ETag` and `Last-Modified`
    /// (RFC 9110, section 13.1). A body that is the same is answered with 304.
    public mutating func setConditions(from response: UpstreamHeaders) {
        fields["If-None-Match"] = response["ETag"]
        fields["If-Modified-Since"] = response["Last-Modified"]
    }

    /// A form, posted.
    public init(posting form: FormFields, to address: UpstreamAddress) {
        self.init(
            .post, address, fields: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(form.encoded.utf8))
    }
}

/// An answer of another system, whole.
public struct UpstreamResponse: Sendable {
    /// From where, once redirects were followed.
    public let address: UpstreamAddress
    /// The status code.
    public let status: Int
    /// The header fields.
    public let fields: UpstreamHeaders
    /// The body after content coding.
    public let body: [UInt8]

    /// Creates an upstream response with these values.
    public init(address: UpstreamAddress, status: Int, fields: UpstreamHeaders, body: [UInt8]) {
        self.address = address
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Whether the status is one of success (200 to 299).
    public var isSuccess: Bool { (200..<300).contains(status) }

    /// The age of the answer when it came, in whole seconds (RFC 9111, section 5.1): not zero where a cache, or a
    /// gateway that mirrors yet another system, has answered. Zero for a value that is no such number, 68 years for one that is
    /// larger (section 1.2.2).
    public var age: Duration {
        guard let text = fields["Age"], !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return .zero
        }
        return .seconds(min(Int64(text) ?? .max, Int64(Int32.max)))
    }

    /// Where a redirect leads (RFC 9110, section 15.4); nil where this is none, or leads nowhere.
    public var redirect: UpstreamAddress? {
        guard [301, 302, 303, 307, 308].contains(status) else { return nil }
        return fields["Location"].flatMap(address.resolving)
    }
}

/// Names and values as a form sends them (`application/x-www-form-urlencoded`, WHATWG URL, section 5.2). Passwords
/// travel in it, so nothing of it is described.
public struct FormFields: Sendable, ExpressibleByDictionaryLiteral, CustomStringConvertible, CustomReflectable {
    private let pairs: [(name: String, value: String)]

    /// Creates form fields with these values.
    public init(_ pairs: [(name: String, value: String)]) {
        self.pairs = pairs
    }

    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    public var description: String { "<form>" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    var encoded: String {
        pairs.map { Self.escape($0.name) + "=" + Self.escape($0.value) }.joined(separator: "&")
    }

    /// One name or value as a form has it.
    public static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x2a:
                escaped.unicodeScalars.append(.init(byte))
            case 0x20: escaped += "+"
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }
}

/// Why there is no answer of another system. An answer with an error status is an answer.
public struct UpstreamFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// A kind of failure.
    public enum Kind: String, Sendable, CaseIterable {
        /// The configuration, or the network that a name leads to, forbids to ask there.
        case destinationRefused
        /// A redirect leads to a server that may not be called.
        case redirectRefused
        /// No such name, no listening server, no trust in the certificate.
        case unreachable
        /// The connection ended before the answer did, or the answer is not HTTP.
        case broken
        /// The deadline passed before the response was complete.
        case timedOut
        /// The response is larger than the upstream's limit.
        case answerTooLarge
        /// More calls under way than this upstream may have.
        case overloaded
        /// It failed too often lately, and is not asked for a while.
        case circuitOpen
        /// The other system does not take the gateway's own credentials, or its token endpoint refuses to issue one.
        case credentialsRefused
        /// The call is made in a caller's name, and there is no caller or none with a session there.
        case signInRequired
        /// The waiting task was cancelled.
        case cancelled
    }

    /// The upstream that was called.
    public let upstream: UpstreamName
    /// The kind of failure.
    public let kind: Kind
    /// For operators; it names no secret.
    public let detail: String

    /// Creates an upstream failure with these values.
    public init(_ kind: Kind, of upstream: UpstreamName, detail: String = "") {
        self.kind = kind
        self.upstream = upstream
        self.detail = detail
    }

    /// For operators, in logs and in the report of a failed change.
    public var description: String {
        detail.isEmpty ? "\(upstream): \(kind.rawValue)" : "\(upstream): \(kind.rawValue), \(detail)"
    }

    /// As a caller may see it: which system it was, not where it is.
    public var asError: PorticoError {
        let detail = "upstream \(upstream): \(self.detail.isEmpty ? kind.rawValue : self.detail)"
        switch kind {
        case .timedOut:
            return PorticoError(.upstreamTimeout, "The system \(upstream) did not answer in time.", logDetail: detail)
        case .overloaded:
            return PorticoError(
                .overloaded, "Too many calls of the system \(upstream) are under way.", retryAfter: 1, logDetail: detail
            )
        case .circuitOpen:
            return PorticoError(
                .upstreamFailed, "The system \(upstream) does not answer at the moment.", logDetail: detail)
        case .signInRequired:
            return PorticoError(.loginRequired, "This needs a new login.", logDetail: detail)
        case .cancelled:
            return PorticoError(.deadlineExceeded, "The request took too long.", logDetail: detail)
        default:
            return PorticoError(.upstreamFailed, "The system \(upstream) could not be asked.", logDetail: detail)
        }
    }
}
