import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// An error in the caller's format and the contract's shape.
struct ErrorWriter: Sendable {
    let answers: ResponseEncoder

    func write(_ error: PorticoError, for request: GatewayRequest, presentation: Presentation) -> GatewayResponse {
        let variant = variant(for: request, presentation: presentation)
        if variant.isPage { return page(error, for: request) }
        let value = Self.value(error, requestID: request.id, presentation.errors)
        // Texts that every format carries, in dictionaries: no format fails.
        let body = (try? variant.format.write(value)) ?? []
        var response = GatewayResponse(
            error.code.status,
            headers: [.contentType: variant.mediaType, .vary: ResponseEncoder.vary, .cacheControl: "no-store"],
            body: body)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    private func page(_ error: PorticoError, for request: GatewayRequest) -> GatewayResponse {
        let page = ErrorPage(error: error, requestID: request.id, path: LocalPath(request.target.text))
        var response = GatewayResponse(page: page.html, status: error.code.status, isPrivate: true)
        response.headers[.vary] = ResponseEncoder.vary
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    static func value(_ error: PorticoError, requestID: String, _ presentation: ErrorPresentation) -> WireValue {
        var members: WireDictionary
        // Message and target may name what a caller sent.
        let message = WireValue.string(error.message.replacedForEveryFormat)
        switch presentation {
        case .standard:
            members = ["code": .string(error.code.rawValue), "message": message]
        case .flat(let code, let messageName):
            members = [:]
            members[code] = .string(error.code.rawValue)
            members[messageName] = message
        }
        members["requestId"] = .string(requestID)
        if let target = error.target, !target.isEmpty { members["target"] = .string(target.replacedForEveryFormat) }
        return presentation == .standard ? ["error": .dictionary(members)] : .dictionary(members)
    }

    /// What the caller accepts, by `Accept` where `?format=` is the mistake; where that is nothing, the route's own
    /// format: an error without a body helps nobody.
    private func variant(for request: GatewayRequest, presentation: Presentation) -> ResponseVariant {
        if let variant = try? answers.choice(for: request, presentation: presentation) { return variant }
        let byHeader = try? answers.choice(for: request, presentation: presentation, overlooksQuery: true)
        if let byHeader { return byHeader }
        let format = FormatName(presentation.defaultFormat).flatMap { answers.catalogue[$0] } ?? JSONFormat()
        return ResponseVariant(format: format, mediaType: format.mediaTypeWritten.description, coding: nil)
    }
}
