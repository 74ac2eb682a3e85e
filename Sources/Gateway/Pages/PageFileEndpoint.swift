import AdapterKit
import Crypto
import HTTPTypes

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

    func immediateResponse(to request: AuthenticatedRequest) -> CachedResponse? { answer(to: request) }

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
