import Foundation
import ValueTree
import WireFormats

/// One call of the gateway: what it is for, not how it is carried.
public struct ServerCall: Sendable, Equatable {
    /// The body of a call.
    public enum Body: Sendable, Equatable {
        /// Written in the session's wire format.
        case value(WireValue)
        /// Bytes as they are, with their media type.
        case bytes([UInt8], type: String)
    }

    /// The HTTP method.
    public var method: String
    /// Its segments are escaped, so that an id may hold any character.
    public var path: [String]
    /// The query's parameters, unescaped, in order.
    public var query: [(name: String, value: String)]
    /// Header fields besides those that the session adds.
    public var headers: [Header]
    /// The body of the call; nil: none.
    public var body: Body?
    /// The longest time of the call in all.
    public var deadline: Duration
    /// Bytes of the answer's body at most.
    public var largestAnswer: Int
    /// Off for what is public: it is sent without a credential even where an account is signed in.
    public var needsSignIn: Bool

    /// Creates a call; nothing is sent yet.
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

extension TransportResponse {
    /// The body as a value, by the format that its media type names.
    ///
    /// - Throws: ``ClientError/unreadableAnswer(_:)``.
    public func value() throws(ClientError) -> WireValue {
        try read { format, body throws(WireFormatError) in try format.read(body) }
    }

    /// The same as a tape, of which values are made one by one.
    func tape() throws(ClientError) -> Tape {
        try read { format, body throws(WireFormatError) in try format.readTape(body, limits: ReadingLimits()) }
    }

    private func read<Result>(
        _ read: (any WireFormat, [UInt8]) throws(WireFormatError) -> Result
    ) throws(ClientError) -> Result {
        let type = header("content-type") ?? ""
        guard let format = Self.formats.first(where: { type.hasPrefix($0.type) })?.format else {
            throw .unreadableAnswer("an answer of type \"\(type)\"")
        }
        do {
            return try read(format, body)
        } catch {
            throw .unreadableAnswer(error.description)
        }
    }

    private static let formats: [(type: String, format: any WireFormat)] = [
        ("application/cbor", CBORFormat()), ("application/json", JSONFormat()),
    ]

    var isSuccess: Bool { (200..<300).contains(status) || status == 304 }

    /// The gateway's words about a call that it did not carry out; of another server's answer, its status.
    var refusal: Refusal {
        let error = try? value()["error"]
        return Refusal(
            status: status, code: error?["code"]?.stringValue ?? "",
            message: error?["message"]?.stringValue ?? "The server answered \(status).",
            requestID: error?["requestId"]?.stringValue,
            retryAfter: header("retry-after").flatMap { Int64($0) }.map { .seconds($0) })
    }
}

extension TransportRequest {
    init(_ call: ServerCall, at server: ServerAddress, token: String?) throws(ClientError) {
        self.init(
            method: call.method, url: server.text + call.target, headers: call.headers, deadline: call.deadline,
            largestAnswer: call.largestAnswer)
        if !headers.contains(where: { $0.name.lowercased() == "accept" }) {
            headers.append(Header("Accept", "application/cbor"))
        }
        if let token { headers.append(Header("Authorization", "Bearer " + token)) }
        switch call.body {
        case nil: break
        case .bytes(let bytes, let type): setBody(bytes, type)
        case .value(let value):
            do {
                setBody(try CBORFormat().write(value), "application/cbor")
            } catch {
                throw .unreadableAnswer("a value that cannot be sent: \(error.description)")
            }
        }
    }

    private mutating func setBody(_ bytes: [UInt8], _ type: String) {
        headers.append(Header("Content-Type", type))
        body = bytes
    }
}

/// Where a gateway is: scheme, host, port and perhaps a path before its own.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// Nil where it is not an absolute `http` or `https` address, or has a user, a query or a fragment.
    public init?(_ text: String) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty,
            url.user == nil, url.password == nil, url.query == nil, url.fragment == nil
        else { return nil }
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        self.text = text
    }

    public var description: String { text }
}
