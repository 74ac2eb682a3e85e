import AdapterKit
import Crypto
import HTTPTypes

/// A file that the gateway serves to browsers as it is: a module, a style, a page of its own. Every caller may read it.
public struct PageFile: Sendable {
    public enum Kind: String, Sendable {
        case html = "text/html; charset=utf-8"
        case module = "text/javascript; charset=utf-8"
        case style = "text/css; charset=utf-8"
        case icon = "image/svg+xml"
        case manifest = "application/manifest+json"
    }

    public let path: PathTemplate
    public let kind: Kind
    public let bytes: [UInt8]
    /// Below which path a service worker may work that begins in this file (Service Workers, section 3.2); nil: its own.
    public let workerScope: String?
    /// How the front page lists it; nil: it does not.
    public let entry: Entry?

    /// A page that people find on the front page, where it is an adapter's while that is served.
    public struct Entry: Sendable {
        public let title: String
        public let summary: String
        public let adapter: AdapterName?

        public init(_ title: String, _ summary: String, adapter: AdapterName? = nil) {
            self.title = title
            self.summary = summary
            self.adapter = adapter
        }
    }

    public init(
        _ path: PathTemplate, _ kind: Kind, _ bytes: [UInt8], workerScope: String? = nil, entry: Entry? = nil
    ) {
        self.path = path
        self.kind = kind
        self.bytes = bytes
        self.workerScope = workerScope
        self.entry = entry
    }

    /// The icon that every page names, and the path that browsers ask for where a page names none.
    static let icons = [
        PageFile("/favicon.svg", .icon, Array(icon.utf8)), PageFile("/favicon.ico", .icon, Array(icon.utf8)),
    ]

    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f5e6b"/>\
        <path d="M16 5 4.5 11.5v2h23v-2zM7 15.5h3.5v8H7zm7.25 0h3.5v8h-3.5zm7.25 0H25v8h-3.5zM5 25h22v2.5H5z" \
        fill="#fff"/></svg>
        """

    /// Everything from this server and nothing from elsewhere; no script or style within the text, no frames.
    static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
        manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """
}

/// `GET` of a ``PageFile``: kept by browsers and proxies, and asked for before each use, so that a page and its modules
/// are always of one version of the gateway.
struct PageFileEndpoint: Endpoint {
    let properties: EndpointProperties
    let description: EndpointDescription
    private let plain: CachedResponse
    private let compressed: CachedResponse?

    init(_ file: PageFile) {
        properties = EndpointProperties(name: "page", access: .public, effect: .reads)
        let mediaType = String(file.kind.rawValue.prefix { $0 != ";" })
        description = EndpointDescription(
            summary: "A file for browsers.", tag: "Gateway", answers: [(.ok, .document(mediaType: mediaType))])
        plain = CachedResponse(Self.response(file, coding: nil, body: file.bytes))
        let coded = file.bytes.count < ContentCoding.minimumSize ? nil : ContentCoding.gzip.encode(file.bytes)
        compressed = coded.map { CachedResponse(Self.response(file, coding: .gzip, body: $0)) }
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        answer(to: request).response
    }

    var mayRespondImmediately: Bool { true }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup { .found(answer(to: request)) }

    private func answer(to request: AuthenticatedRequest) -> CachedResponse {
        guard let compressed, ContentCoding.negotiate(request.request.headers[.acceptEncoding]) == .gzip else {
            return plain
        }
        return compressed
    }

    private static func response(_ file: PageFile, coding: ContentCoding?, body: [UInt8]) -> GatewayResponse {
        let digest = Hexadecimal.text(SHA256.hash(data: file.bytes).prefix(8))
        var headers: HTTPFields = [
            .contentType: file.kind.rawValue, .cacheControl: "public, no-cache", .vary: "Accept-Encoding",
            .eTag: EntityTag(version: digest, variant: coding?.rawValue ?? "file").text,
            .contentSecurityPolicy: PageFile.contentSecurityPolicy, .referrerPolicy: "same-origin",
            .crossOriginOpenerPolicy: "same-origin",
        ]
        if file.kind == .html { headers[.xFrameOptions] = "DENY" }
        if let coding { headers[.contentEncoding] = coding.rawValue }
        if let scope = file.workerScope { headers[.serviceWorkerAllowed] = scope }
        return GatewayResponse(.ok, headers: headers, body: body)
    }
}

extension HTTPField.Name {
    static let serviceWorkerAllowed = HTTPField.Name("Service-Worker-Allowed")!
}
