import AdapterKit
import HTTPTypes

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
        case .accessDenied, .csrfRequired: .forbidden
        case .recordExists, .recordConflict: .conflict
        case .preconditionFailed: .preconditionFailed
        case .fetchAgain: .gone
        case .deadlineExceeded, .upstreamTimeout: .gatewayTimeout
        case .overloaded, .stopping, .storeUnavailable, .adapterUnavailable: .serviceUnavailable
        case .serverInternal: .internalServerError
        case .storeFull: .standard(507)
        case .upstreamFailed: .badGateway
        }
    }
}
