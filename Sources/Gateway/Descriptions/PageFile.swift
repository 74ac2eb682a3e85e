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
    /// Its entry on the front page; nil: it has none.
    public let entry: Entry?

    /// A page that people find on the front page, where it is an adapter's while that is served.
    public struct Entry: Sendable {
        /// The readers of the page.
        public enum Audience: Sendable {
            /// People who work with the records.
            case users
            /// People who write programs against the gateway.
            case developers
            /// An account, for what is its own: where it is signed in, its keys.
            case account
        }

        public let title: String
        public let summary: String
        public let audience: Audience
        public let adapter: AdapterName?

        public init(
            _ title: String, _ summary: String, for audience: Audience = .users, adapter: AdapterName? = nil
        ) {
            self.title = title
            self.summary = summary
            self.audience = audience
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

    /// Files of all pages: the icon that every page names, the path that browsers ask for where a page names none, the
    /// style and the elements.
    static let base = [
        icon(at: "/favicon.svg"), icon(at: "/favicon.ico"),
        style(at: "/pages/base.css"), elements(at: "/pages/elements.js"),
        PageFile("/pages/account.js", .module, PackageResources.account_js),
    ]

    public static func icon(at path: PathTemplate) -> PageFile { PageFile(path, .icon, Array(icon.utf8)) }

    /// The style of all pages, for pages of another listener too.
    public static func style(at path: PathTemplate) -> PageFile { PageFile(path, .style, PackageResources.base_css) }

    /// The module that makes elements, for pages of another listener too; it loads no other.
    public static func elements(at path: PathTemplate) -> PageFile {
        PageFile(path, .module, PackageResources.elements_js)
    }

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
/// are always of one version of the gateway. Of operators' pages nothing is kept at all.
struct PageFileEndpoint: Endpoint {
    let properties: EndpointProperties
    let description: EndpointDescription
    private let plain: CachedResponse
    private let compressed: CachedResponse?

    init(_ file: PageFile, isPrivate: Bool = false) {
        properties = EndpointProperties(name: "page", access: .public, effect: .reads)
        let mediaType = String(file.kind.rawValue.prefix { $0 != ";" })
        description = EndpointDescription(
            summary: "A file for browsers.", tag: "Gateway", answers: [(.ok, .document(mediaType: mediaType))])
        plain = CachedResponse(Self.response(file, coding: nil, body: file.bytes, isPrivate: isPrivate))
        let coded = file.bytes.count < ContentCoding.minimumSize ? nil : ContentCoding.gzip.encode(file.bytes)
        compressed = coded.map { CachedResponse(Self.response(file, coding: .gzip, body: $0, isPrivate: isPrivate)) }
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        cachedResponse(to: request).response
    }

    var mayRespondImmediately: Bool { true }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup { .found(cachedResponse(to: request)) }

    private func cachedResponse(to request: AuthenticatedRequest) -> CachedResponse {
        guard let compressed, ContentCoding.negotiate(request.request.headers[.acceptEncoding]) == .gzip else {
            return plain
        }
        return compressed
    }

    private static func response(
        _ file: PageFile, coding: ContentCoding?, body: [UInt8], isPrivate: Bool
    ) -> GatewayResponse {
        let digest = Hexadecimal.text(SHA256.hash(data: file.bytes).prefix(8))
        var headers: HTTPFields = [
            .contentType: file.kind.rawValue, .cacheControl: "public, no-cache", .vary: "Accept-Encoding",
            .eTag: EntityTag(version: digest, variant: coding?.rawValue ?? "file").text,
            .contentSecurityPolicy: PageFile.contentSecurityPolicy, .referrerPolicy: "same-origin",
            .crossOriginOpenerPolicy: "same-origin",
        ]
        if isPrivate {
            headers[.cacheControl] = "no-store"
            headers[.eTag] = nil
            headers.protectPage()
        }
        if file.kind == .html { headers[.xFrameOptions] = "DENY" }
        if let coding { headers[.contentEncoding] = coding.rawValue }
        if let scope = file.workerScope { headers[.serviceWorkerAllowed] = scope }
        return GatewayResponse(.ok, headers: headers, body: body)
    }
}

extension HTTPFields {
    /// No other page gets hold of the answer, in a frame, as its opener or as a part of itself.
    mutating func protectPage() {
        put(.cacheControl, "no-store")
        put(.crossOriginOpenerPolicy, "same-origin")
        put(.crossOriginResourcePolicy, "same-origin")
        if self[.contentSecurityPolicy] == nil {
            put(.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
        }
    }
}

extension HTTPField.Name {
    static let serviceWorkerAllowed = HTTPField.Name("Service-Worker-Allowed")!
}
