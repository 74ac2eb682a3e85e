import ValueTree

/// One call of the gateway: what it is for, not how it is carried.
public struct ServerCall: Sendable, Equatable {
    public enum Body: Sendable, Equatable {
        /// Written in the session's wire format.
        case value(WireValue)
        /// Bytes as they are, with their media type.
        case bytes([UInt8], type: String)
    }

    public var method: String
    /// Its segments are escaped, so that an id may hold any character.
    public var path: [String]
    public var query: [(name: String, value: String)]
    public var headers: [Header]
    public var body: Body?
    public var deadline: Duration
    /// Bytes of the answer's body at most.
    public var largestAnswer: Int
    /// Off for what is public: it is sent without a credential even where somebody is signed in.
    public var needsSignIn: Bool

    public init(
        _ method: String = "GET", path: [String], query: [(name: String, value: String)] = [], headers: [Header] = [],
        body: Body? = nil, deadline: Duration = .seconds(30), largestAnswer: Int = 64 << 20, needsSignIn: Bool = true
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.deadline = deadline
        self.largestAnswer = largestAnswer
        self.needsSignIn = needsSignIn
    }

    public static func == (left: ServerCall, right: ServerCall) -> Bool {
        left.target == right.target && left.method == right.method && left.headers == right.headers
            && left.body == right.body && left.deadline == right.deadline && left.needsSignIn == right.needsSignIn
    }

    /// Path and query, escaped.
    var target: String {
        let path = path.map { "/" + $0.pathEscaped }.joined()
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { $0.name.pathEscaped + "=" + $0.value.urlEscaped }.joined(separator: "&")
    }
}

extension String {
    /// Everything but RFC 3986's unreserved characters as `%XX`.
    var urlEscaped: String { escaped { _ in false } }

    /// The same without those that a segment, or a name of the query, takes as they are and that servers look for.
    var pathEscaped: String { escaped { "$()',:@!*".utf8.contains($0) } }

    private func escaped(except isPlain: (UInt8) -> Bool) -> String {
        var escaped = ""
        for byte in utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            case let byte where isPlain(byte): escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += byte < 16 ? "%0" : "%"
                escaped += String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }
}
