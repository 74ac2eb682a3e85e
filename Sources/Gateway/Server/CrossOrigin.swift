import HTTPTypes

/// Cross-origin requests from browsers (the Fetch standard's CORS protocol), from an explicit list of origins.
///
/// An origin that is not on the list gets no header at all, so the browser refuses; nothing is ever reflected.
struct CrossOrigin: Sendable {
    /// `http.cors.origins`, such as `https://app.example.com`.
    let origins: Set<String>
    /// `http.corsMaxAge`, in seconds.
    let maxAge: Int

    private static let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
    private static let requestFields = """
        Accept, Authorization, Content-Range, Content-Type, If-Match, If-None-Match, Last-Event-ID, X-CSRF-Token, \
        X-Requested-With
        """
    private static let responseFields = "ETag, Location, Retry-After, X-CSRF-Token, X-Request-ID"

    func label(_ response: inout GatewayResponse, for request: GatewayRequest) {
        guard !origins.isEmpty else { return }
        response.headers[.vary] = response.headers[.vary].map { "\($0), Origin" } ?? "Origin"
        guard let origin = request.headers[.origin], origins.contains(origin) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = Self.responseFields
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil else { return }
        response.headers[.accessControlAllowMethods] = Self.methods
        response.headers[.accessControlAllowHeaders] = Self.requestFields
        response.headers[.accessControlMaxAge] = String(maxAge)
    }
}
