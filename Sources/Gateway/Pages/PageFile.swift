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

    public init(_ path: PathTemplate, _ kind: Kind, _ bytes: [UInt8], workerScope: String? = nil) {
        self.path = path
        self.kind = kind
        self.bytes = bytes
        self.workerScope = workerScope
    }

    /// Everything from this server and nothing from elsewhere; no script or style within the text, no frames.
    static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
        manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """
}
