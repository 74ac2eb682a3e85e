import AdapterKit

/// Failures inside of a batch as answers: there the gateway is not asked.
enum BatchFailure {
    static func answer(_ error: any Error, requestID: String = "") -> MountResponse {
        switch error {
        case let failure as ODataError:
            var answer = answer(failure.error, failure.details, requestID, status: failure.status)
            for field in failure.headers.fields { answer.headers[field.name] = field.value }
            return answer
        case let error as PorticoError: return answer(error, [], requestID, status: nil)
        default: return answer(PorticoError(.serverInternal, "The request failed."), [], requestID, status: nil)
        }
    }

    /// A request that another one's failure kept from being made (JSON Format 4.01, section 19.1).
    static var dependency: MountResponse {
        answer(PorticoError(.requestInvalid, "A request that this one goes with failed."), [], "", status: 424)
    }

    private static func answer(
        _ error: PorticoError, _ details: [PorticoError], _ requestID: String, status: Int?
    ) -> MountResponse {
        MountResponse(
            status ?? Self.status(error.code), headers: ["Content-Type": "application/json", "OData-Version": "4.01"],
            body: ODataError.body(error, details: details, requestID: requestID))
    }

    /// As the gateway has it.
    static func status(_ code: ErrorCode) -> Int {
        switch code {
        case .routeNotFound, .recordNotFound: 404
        case .methodNotAllowed: 405
        case .notAcceptable, .notRepresentable: 406
        case .loginRequired, .credentialsInvalid: 401
        case .accessDenied, .csrfRequired: 403
        case .recordExists, .recordConflict: 409
        case .fetchAgain: 410
        case .preconditionFailed: 412
        case .requestTooLarge: 413
        case .unsupportedMediaType, .unsupportedEncoding: 415
        case .loginThrottled, .rateLimited: 429
        case .deadlineExceeded, .upstreamTimeout: 504
        case .upstreamFailed: 502
        case .overloaded, .stopping, .storeUnavailable, .adapterUnavailable: 503
        case .storeFull: 507
        case .serverInternal: 500
        default: 400
        }
    }
}
