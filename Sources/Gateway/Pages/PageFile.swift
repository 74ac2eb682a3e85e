import AdapterKit

/// A file that the gateway serves to browsers as it is: a module, a style, a page of its own. Anybody may read it.
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

    /// A page that people find on the front page while an adapter is served.
    public struct Entry: Sendable {
        public let title: String
        public let summary: String
        public let adapter: AdapterName

        public init(_ title: String, _ summary: String, adapter: AdapterName) {
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
