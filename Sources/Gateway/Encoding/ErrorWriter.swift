import AdapterKit
import HTTPTypes
import NIOHTTP1
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

    /// The variant that the caller accepts, by `Accept` where `?format=` is the mistake; where that is nothing, the route's own
    /// format, rather than an error without a body.
    private func variant(for request: GatewayRequest, presentation: Presentation) -> ResponseVariant {
        if let variant = try? answers.choice(for: request, presentation: presentation) { return variant }
        let byHeader = try? answers.choice(for: request, presentation: presentation, overlooksQuery: true)
        if let byHeader { return byHeader }
        let format = FormatName(presentation.defaultFormat).flatMap { answers.catalogue[$0] } ?? JSONFormat()
        return ResponseVariant(format: format, mediaType: format.mediaTypeWritten.description, coding: nil)
    }
}

extension ErrorCode {
    /// The one place that gives a code its HTTP status.
    var status: HTTPResponse.Status {
        switch self {
        case .requestMalformed, .requestInvalid, .requestDuplicateKey, .requestRefused, .requestLimitExceeded,
            .secretInURL, .cursorInvalid, .searchUnavailable:
            .badRequest
        case .requestTooLarge: .contentTooLarge
        case .requestURITooLong: .uriTooLong
        case .requestHeadersTooLarge: .requestHeaderFieldsTooLarge
        case .requestTimeout: .requestTimeout
        case .expectationFailed: .expectationFailed
        case .methodUnknown, .transferCodingUnknown: .notImplemented
        case .versionUnsupported: .httpVersionNotSupported
        case .unsupportedMediaType, .unsupportedEncoding: .unsupportedMediaType
        case .notAcceptable, .notRepresentable: .notAcceptable
        case .routeNotFound, .recordNotFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .loginRequired, .credentialsInvalid: .unauthorized
        case .loginThrottled, .rateLimited: .tooManyRequests
        case .accessDenied, .csrfRequired, .confirmationRequired: .forbidden
        case .requestMisdirected: .misdirectedRequest
        case .recordExists, .recordConflict: .conflict
        case .preconditionFailed: .preconditionFailed
        case .keyReused: .unprocessableContent
        case .fetchAgain: .gone
        case .deadlineExceeded, .upstreamTimeout, .upstreamOutcomeUnknown: .gatewayTimeout
        case .overloaded, .stopping, .storeUnavailable, .adapterUnavailable: .serviceUnavailable
        case .serverInternal: .internalServerError
        case .storeFull: .standard(507)
        case .upstreamFailed: .badGateway
        }
    }
}

extension ErrorCode {
    /// The meaning of the code, for the access log. An error's own message may repeat what the caller sent, a secret among it.
    var reason: String {
        switch self {
        case .requestMalformed: "the request cannot be read"
        case .requestInvalid: "a value is missing or not allowed"
        case .requestDuplicateKey: "a key stands twice in the body"
        case .requestRefused: "the adapter refused the request"
        case .requestLimitExceeded: "a limit was exceeded"
        case .requestTooLarge: "the body is too large"
        case .requestURITooLong: "the address is too long"
        case .requestHeadersTooLarge: "the header fields are too large or too many"
        case .requestTimeout: "the request came too slowly"
        case .expectationFailed: "the expectation is unknown"
        case .transferCodingUnknown: "the transfer coding is unknown"
        case .versionUnsupported: "the version of HTTP is not supported"
        case .methodUnknown: "the method is unknown"
        case .unsupportedMediaType: "the body's media type is not supported"
        case .unsupportedEncoding: "the body's content coding is not supported"
        case .notAcceptable: "no format of the answer is acceptable"
        case .secretInURL: "a secret stands in the address"
        case .keyReused: "the idempotency key came with another change"
        case .routeNotFound: "nothing is at the path"
        case .methodNotAllowed: "the path does not take the method"
        case .loginRequired: "credentials are needed"
        case .credentialsInvalid: "the credentials are not valid"
        case .loginThrottled: "too many sign-ins have failed"
        case .accessDenied: "the caller may not do this"
        case .csrfRequired: "the token against cross-site requests is missing or wrong"
        case .confirmationRequired: "the operator has to show the password again"
        case .requestMisdirected: "the host is none of this server's"
        case .rateLimited: "the caller's requests exceed its rate"
        case .recordNotFound: "there is no such record, or not for the caller"
        case .recordExists: "there is such a record already"
        case .recordConflict: "the record's state does not allow it"
        case .preconditionFailed: "the record is not the one that the precondition names"
        case .cursorInvalid: "the cursor is not valid"
        case .searchUnavailable: "the records cannot be searched"
        case .fetchAgain: "the device has to fetch first"
        case .notRepresentable: "the format cannot carry a value"
        case .deadlineExceeded: "the request took too long"
        case .overloaded: "there is too much to do"
        case .stopping: "the gateway stops"
        case .serverInternal: "an error of the gateway"
        case .storeUnavailable: "the store is not available"
        case .storeFull: "there is no room left"
        case .adapterUnavailable: "the adapter does not run"
        case .upstreamFailed: "another system failed"
        case .upstreamTimeout: "another system took too long"
        case .upstreamOutcomeUnknown: "it is unknown what another system or an adapter did"
        }
    }
}

extension HTTPResponse.Status {
    /// With the reason phrase that the status is registered with (IANA, HTTP Status Codes); none where it is not.
    ///
    /// Clients need not read it, but tools that speak HTTP/1 by hand show it, and some fail without one.
    static func standard(_ code: Int) -> Self {
        Self(code: code, reasonPhrase: HTTPResponseStatus(statusCode: code).reasonPhrase)
    }
}
