import AdapterKit
import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP1

/// The limits of a request's head.
package struct HeadLimits: Sendable {
    /// Fields, the host among them.
    package let fields: Int
    /// Bytes of their names and values together with the target's.
    package let bytes: Int

    package init(fields: Int, bytes: Int) {
        self.fields = fields
        self.bytes = bytes
    }
}

/// A request's head that every implementation of HTTP frames and reads alike (RFC 9110, RFC 9112, RFC 9113).
///
/// Where the RFCs leave a choice, a proxy in front may have chosen otherwise, and a request that two programs frame
/// differently allows request smuggling. So nothing is repaired. The same rules hold for both versions of HTTP; one pass
/// over the fields.
struct RequestHead {
    private(set) var method = HTTPRequest.Method.get
    private(set) var target = ""
    private(set) var host = ""
    /// Without the host and pseudo-fields.
    private(set) var fields = HTTPFields()
    /// As announced; nil: it is not.
    private(set) var length: Int?
    /// The body comes in chunks.
    private(set) var isChunked = false
    /// The client waits for a word before it sends.
    private(set) var expectsContinue = false
    /// The connection ends with this request.
    private(set) var isLast = false

    private var lengths = 0
    private var codings = 0

    /// A head that the decoder of HTTP/1 has accepted: it has refused broken tokens, bare line feeds and contradicting
    /// lengths, and counted the fields.
    init(_ head: HTTPRequestHead) throws(PorticoError) {
        let version = head.version
        guard version == .http1_1 || version == .http1_0 else {
            throw PorticoError(.versionUnsupported, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        }
        guard let method = HTTPRequest.Method(rawValue: head.method.rawValue) else { throw .methodUnknown }
        let absolute = try AbsoluteTarget(head.uri, method)
        let target = absolute?.target ?? head.uri
        try Self.check(target, method)
        self.method = method
        self.target = target
        var hosts: [String] = []
        for (name, value) in head.headers where name.utf8.count == 4 && name.isEqualCaseInsensitive("host") {
            hosts.append(value)
        }
        guard let host = hosts.first, hosts.count == 1 else { throw .malformed("A request names its host, once.") }
        guard Self.isHost(host) else { throw .malformed("The host is not well-formed.") }
        guard absolute.map({ $0.isHost(host) }) ?? true else {
            throw .malformed("The address and the Host field name different hosts.")
        }
        self.host = host
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            if name.utf8.count == 4, name.isEqualCaseInsensitive("host") { continue }
            // Cannot trap: the decoder counts the fields.
            guard let name = HTTPField.Name(name) else { throw .malformed("A field's name is not well-formed.") }
            try take(name, value, connection: true)
            fields.append(HTTPField(name: name, value: value))
        }
        guard lengths + codings <= 1 else { throw .malformed("The body's length is given more than once.") }
        guard codings == 0 || version == .http1_1 else { throw .malformed("HTTP/1.0 has no transfer codings.") }
        isChunked = codings > 0
        isLast = isLast || version != .http1_1
    }

    /// A field section that NIOHTTP2 has accepted: it has refused broken names and values, wrong pseudo-fields and the
    /// fields of connections.
    init(_ section: HPACKHeaders, limits: HeadLimits) throws(PorticoError) {
        var (method, target, host) = (String?.none, "", String?.none)
        var hosts: [String] = []
        var (count, bytes) = (0, 0)
        fields.reserveCapacity(min(section.count, limits.fields))
        for (name, value, _) in section {
            if name.utf8.first == UInt8(ascii: ":") {
                switch name {
                case ":method": method = value
                case ":path":
                    target = value
                    bytes += value.utf8.count
                case ":authority":
                    host = value
                    bytes += "host".utf8.count + value.utf8.count
                    count += 1
                default: break
                }
                continue
            }
            bytes += name.utf8.count + value.utf8.count
            count += 1
            guard count <= limits.fields, bytes <= limits.bytes else { throw .headTooLarge }
            if name == "host" {
                hosts.append(value)
                continue
            }
            // Cannot trap: counted.
            guard let name = HTTPField.Name(parsed: name), HTTPField.isValidValue(value) else {
                throw .malformed("A field is not well-formed.")
            }
            try take(name, value, connection: false)
            fields.append(HTTPField(name: name, value: value))
        }
        guard count <= limits.fields, bytes <= limits.bytes else { throw .headTooLarge }
        guard let method = method.flatMap({ HTTPRequest.Method(rawValue: $0) }) else { throw .methodUnknown }
        // Every `host` field names what `:authority` names (RFC 9113, section 8.3.1). Another program on the way may have
        // gone by either of them.
        guard hosts.count <= 1, let host = host ?? hosts.first,
            hosts.allSatisfy({ $0.lowercased() == host.lowercased() }), !host.isEmpty
        else { throw .malformed("A request names its host, once.") }
        guard Self.isHost(host) else { throw .malformed("The host is not well-formed.") }
        try Self.check(target, method)
        self.method = method
        self.target = target
        self.host = host
        guard lengths <= 1 else { throw .malformed("The body's length is given more than once.") }
    }

    private static func check(_ target: String, _ method: HTTPRequest.Method) throws(PorticoError) {
        guard method != .connect else { throw .malformed("Nothing is tunnelled here.") }
        let isOrigin = target.utf8.first == UInt8(ascii: "/") || (method == .options && target == "*")
        guard isOrigin, target.isPrintableTarget else {
            throw .malformed("The address is a path, in printable ASCII.")
        }
    }

    /// `connection`: whether fields of the connection are among them.
    private mutating func take(_ name: HTTPField.Name, _ value: String, connection: Bool) throws(PorticoError) {
        switch name.canonicalName.utf8.count {
        case 6 where name == .expect:
            guard value.isEqualCaseInsensitive("100-continue") else {
                throw PorticoError(.expectationFailed, "This expectation is unknown.")
            }
            expectsContinue = true
        case 7 where connection && name == .upgrade:
            // The decoder stops at a request that asks for another protocol, so this one is the last.
            isLast = true
        case 10 where connection && name == .connection:
            isLast = isLast || !value.isEqualCaseInsensitive("keep-alive")
        case 14 where name == .contentLength:
            lengths += 1
            guard Self.isLength(value), let bytes = Int(value) else { throw .malformed("The length is not a number.") }
            length = bytes
        case 17 where name == .transferEncoding:
            codings += 1
            guard value.isEqualCaseInsensitive("chunked") else { throw Self.otherCoding(value) }
        default: return
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

    /// Whether all characters are allowed in `uri-host [":" port]` (RFC 3986, section 3.2). Empty text and user information
    /// are refused.
    static func isHost(_ text: String) -> Bool {
        !text.isEmpty
            && text.allBytes { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"):
                    true
                default: false
                }
            }
    }
}

/// A request target in absolute form (RFC 9112, section 3.2.2), taken apart.
///
/// The RFC lets the target's host win over `Host`, and another program on the way may have gone by either; so they have to
/// be the same, as for `:authority` in HTTP/2.
struct AbsoluteTarget {
    private let authority: String
    private let defaultPort: String
    /// The origin form of the same target; `*` for `OPTIONS` of a server as a whole.
    let target: String

    /// Nil for a target in another form. Throws `request.malformed` where the authority is empty or not well-formed.
    init?(_ text: String, _ method: HTTPRequest.Method) throws(PorticoError) {
        let scheme: Int
        if text.utf8.prefix(7).elementsEqual("http://".utf8, by: Self.isSame) {
            (scheme, defaultPort) = (7, ":80")
        } else if text.utf8.prefix(8).elementsEqual("https://".utf8, by: Self.isSame) {
            (scheme, defaultPort) = (8, ":443")
        } else {
            return nil
        }
        let rest = text.utf8.dropFirst(scheme)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        authority = String(decoding: rest[..<end], as: UTF8.self)
        guard RequestHead.isHost(authority) else { throw .malformed("The address's host is not well-formed.") }
        let path = String(decoding: rest[end...], as: UTF8.self)
        switch path.utf8.first {
        case nil: target = method == .options ? "*" : "/"
        case UInt8(ascii: "?"): target = "/" + path
        default: target = path
        }
    }

    /// Whether the value of a `Host` field names the same host.
    func isHost(_ host: String) -> Bool { bare(host) == bare(authority) }

    private func bare(_ host: String) -> String {
        let host = host.lowercased()
        return host.hasSuffix(defaultPort) ? String(host.dropLast(defaultPort.count)) : host
    }

    private static func isSame(_ byte: UInt8, _ lowercase: UInt8) -> Bool {
        byte == lowercase || ((0x41...0x5A).contains(byte) && byte | 0x20 == lowercase)
    }
}

extension PorticoError {
    package static var headTooLarge: PorticoError {
        PorticoError(.requestHeadersTooLarge, "The header fields are too large or too many.")
    }

    package static var methodUnknown: PorticoError { PorticoError(.methodUnknown, "The method is unknown.") }

    /// The decoder's errors as errors for the client.
    init(_ error: HTTPParserError) {
        switch error {
        case .headerOverflow: self = .headTooLarge
        case .invalidEOFState: self.init(.requestMalformed, "The request ends before it is complete.")
        case .invalidMethod: self.init(.requestMalformed, "The method is unknown.")
        // Also said of a line that ends otherwise than it should, so the version is not necessarily the cause.
        case .invalidVersion: self.init(.requestMalformed, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        case .unexpectedContentLength, .invalidContentLength:
            self.init(.requestMalformed, "The body's length is not well-formed, or given more than once.")
        case .invalidChunkSize: self.init(.requestMalformed, "A chunk's size is not well-formed.")
        default: self.init(.requestMalformed, "The request is not well-formed HTTP.")
        }
    }
}

extension StringProtocol {
    /// Whether all characters are printable ASCII and none begins a fragment, as in a percent-encoded request target.
    package var isPrintableTarget: Bool { allBytes { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") } }

    /// Compares ASCII texts; `lowercase` holds no capital.
    package func isEqualCaseInsensitive(_ lowercase: StaticString) -> Bool {
        guard utf8.count == lowercase.utf8CodeUnitCount else { return false }
        var other = lowercase.utf8Start
        return allBytes { byte in
            defer { other += 1 }
            return byte == other.pointee || ((0x41...0x5A).contains(byte) && byte | 0x20 == other.pointee)
        }
    }

    /// Over the bytes where they lie, which is several times faster than by the string's indices.
    package func allBytes(_ isRight: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isRight) } ?? utf8.allSatisfy(isRight)
    }
}
