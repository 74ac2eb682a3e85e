/// Bytes that a caller stored, and their labels when they are served.
///
/// They come from the gateway's own origin, so a browser that showed them as a page would run their scripts with its
/// reader's session. ``headers`` let no browser do so: everything is sandboxed and no type is guessed, and what is not of
/// a type that cannot hold a script is saved instead of shown. Every answer that holds stored bytes is made with this
/// type, a range of them and a 304 for them too.
public struct StoredContent: Sendable, Equatable {
    /// The type of bytes that were stored without one.
    public static let unknownType = "application/octet-stream"
    /// For answers that are no pages.
    public static let securityPolicy = "default-src 'none'; sandbox"

    /// The media type with its parameters, well-formed.
    public let mediaType: String
    /// Whether a browser may show it.
    public let isShown: Bool

    /// `declared` is what the caller said; a text that is no media type (RFC 9110, section 8.3.1) is taken for none.
    public init(_ declared: String?) {
        let type = declared.flatMap { MediaTypeText($0) }
        mediaType = type?.text ?? Self.unknownType
        isShown = type.map { Self.harmless.contains($0.essence) } ?? false
    }

    /// The header fields of an answer with the bytes.
    public var headers: MountHeaders {
        var headers = protection
        headers["Content-Type"] = mediaType
        return headers
    }

    /// ``headers`` without the type, for answers that hold no bytes, such as a 304.
    public var protection: MountHeaders {
        var headers: MountHeaders = [
            "Content-Security-Policy": Self.securityPolicy, "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        ]
        if !isShown { headers["Content-Disposition"] = "attachment" }
        return headers
    }

    /// Types whose viewers run no scripts. Neither SVG nor XML, HTML or PDF is among them.
    private static let harmless: Set<String> = [
        "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "audio/aac",
        "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav", "audio/webm", "video/mp4", "video/mpeg",
        "video/ogg", "video/webm",
    ]
}

/// A media type as a header field may hold it: `type/subtype` and parameters whose values are tokens or simple quoted
/// texts.
struct MediaTypeText {
    /// In lower case, without parameters.
    let essence: String
    let text: String

    private static let maximumLength = 255

    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Self.trimmed)
        let names = parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy(Self.isToken) else { return nil }
        for parameter in parts.dropFirst() {
            guard let split = parameter.firstIndex(of: UInt8(ascii: "=")), Self.isToken(parameter[..<split]),
                Self.isValue(parameter[parameter.index(after: split)...])
            else { return nil }
        }
        let essence = String(decoding: parts[0], as: UTF8.self).lowercased()
        self.essence = essence
        let parameters = parts.dropFirst().map { "; \(String(decoding: $0, as: UTF8.self))" }
        self.text = essence + parameters.joined()
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text
        while text.first == 0x20 { text.removeFirst() }
        while text.last == 0x20 { text.removeLast() }
        return text
    }

    /// RFC 9110, section 5.6.2.
    private static func isToken(_ text: Substring.UTF8View) -> Bool {
        !text.isEmpty
            && text.allSatisfy { byte in
                switch byte | 0x20 {
                case UInt8(ascii: "a")...UInt8(ascii: "z") where byte >= 0x41: true
                default: (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func isValue(_ text: Substring.UTF8View) -> Bool {
        guard text.first == UInt8(ascii: "\""), text.count >= 2, text.last == UInt8(ascii: "\"") else {
            return isToken(text)
        }
        return text.dropFirst().dropLast().allSatisfy { (0x20..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}

extension MountResponse {
    /// An answer with bytes that a caller stored.
    public init(_ status: Int = 200, stored bytes: [UInt8], as content: StoredContent, headers: MountHeaders = [:]) {
        self.init(status, headers: headers.replacing(content.headers), body: bytes)
    }
}

extension MountHeaders {
    /// With the other's fields in the place of their namesakes.
    public func replacing(_ others: MountHeaders) -> MountHeaders {
        others.fields.reduce(into: self) { $0[$1.name] = $1.value }
    }
}
