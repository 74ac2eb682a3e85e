import AdapterKit
import NIOHTTP1

/// Accepts request heads that every HTTP/1 implementation frames alike, and refuses all others (RFC 9112).
///
/// Where the RFC leaves a choice, a proxy in front may have chosen otherwise, and a request that two programs frame
/// differently allows request smuggling. So nothing is repaired. The decoder has already refused broken tokens, bare
/// line feeds and contradicting lengths. One pass over the fields, without allocation.
struct RequestHeadValidation {
    private var hosts = 0
    private var lengths = 0
    private var codings = 0
    private var host = ""
    private var ends = false
    private var mayBeHeld = true

    static func admit(_ head: HTTPRequestHead, asLast: Bool = false) throws(PorticoError) -> ValidatedHead {
        var rules = RequestHeadValidation()
        let version = head.version
        try rules.checkTarget(head.uri, head.method, version)
        for (name, value) in head.headers { try rules.take(name, value) }
        try rules.checkFraming(version)
        let isLast = rules.ends || asLast || version != .http1_1
        return ValidatedHead(
            host: rules.host, isLast: isLast, mayBeHeld: rules.mayBeHeld && !isLast, isChunked: rules.codings > 0)
    }

    private func checkTarget(_ uri: String, _ method: NIOHTTP1.HTTPMethod, _ version: HTTPVersion) throws(PorticoError)
    {
        guard version == .http1_1 || version == .http1_0 else {
            throw PorticoError(.versionUnsupported, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        }
        guard method != .CONNECT else { throw .malformed("Nothing is tunnelled here.") }
        let isOrigin = uri.utf8.first == UInt8(ascii: "/") || (method == .OPTIONS && uri == "*")
        guard isOrigin, RequestTarget.isPrintable(uri) else {
            throw .malformed("The address is a path, in printable ASCII.")
        }
    }

    private mutating func take(_ name: String, _ value: String) throws(PorticoError) {
        switch name.utf8.count {
        case 4 where name.isEqualCaseInsensitive("host"):
            hosts += 1
            host = value
            guard RequestTarget.isHost(value) else { throw .malformed("The host is not well-formed.") }
        case 6 where name.isEqualCaseInsensitive("expect"):
            guard value.isEqualCaseInsensitive("100-continue") else {
                throw PorticoError(.expectationFailed, "This expectation is unknown.")
            }
            mayBeHeld = false
        case 7 where name.isEqualCaseInsensitive("upgrade"):
            // The decoder stops at a request that asks for another protocol, so this one is the last.
            ends = true
        case 10 where name.isEqualCaseInsensitive("connection"):
            ends = ends || !value.isEqualCaseInsensitive("keep-alive")
        case 14 where name.isEqualCaseInsensitive("content-length"):
            lengths += 1
            guard Self.isLength(value) else { throw .malformed("The length is not a number.") }
            mayBeHeld = mayBeHeld && (Int(value) ?? .max) <= BufferedRequestHandler.longestBody
        case 16 where name.isEqualCaseInsensitive("content-encoding"):
            mayBeHeld = false
        case 17 where name.isEqualCaseInsensitive("transfer-encoding"):
            codings += 1
            mayBeHeld = false
            guard value.isEqualCaseInsensitive("chunked") else { throw Self.otherCoding(value) }
        default: return
        }
    }

    private func checkFraming(_ version: HTTPVersion) throws(PorticoError) {
        guard hosts == 1 else { throw .malformed("A request names its host, once.") }
        guard lengths + codings <= 1 else { throw .malformed("The body's length is given more than once.") }
        guard codings == 0 || version == .http1_1 else {
            throw .malformed("HTTP/1.0 has no transfer codings.")
        }
    }

    /// Codings that end in chunks can be framed and not be undone (RFC 9112, section 6.1); all others cannot be framed.
    private static func otherCoding(_ value: String) -> PorticoError {
        let names = value.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        let isFramed = names.last?.isEqualCaseInsensitive("chunked") == true
        let areOthers = names.dropLast().allSatisfy { !$0.isEmpty && !$0.isEqualCaseInsensitive("chunked") }
        guard names.count > 1, isFramed, areOthers else {
            return .malformed("The only transfer coding here is chunked.")
        }
        return PorticoError(.transferCodingUnknown, "The only transfer coding here is chunked.")
    }

    /// Digits, and so few that no program on the way counts them over.
    private static func isLength(_ text: String) -> Bool {
        (1...18).contains(text.utf8.count) && text.allBytes { (0x30...0x39).contains($0) }
    }
}

extension PorticoError {
    static func malformed(_ message: String) -> PorticoError { PorticoError(.requestMalformed, message) }
}

/// Facts of a validated head, so that later handlers need not read its fields again.
struct ValidatedHead {
    let host: String
    /// The connection ends with this request.
    let isLast: Bool
    /// Whether the request may be held until it is whole: its body is short and sent as it is, the connection goes on,
    /// and its client waits for no word before it sends.
    let mayBeHeld: Bool
    /// The body comes in chunks.
    var isChunked = false
}
