/// The registry of everything that can go wrong, as callers see it. A code never changes its meaning.
public enum ErrorCode: String, Sendable, CaseIterable {
    // The request itself
    case requestMalformed = "request.malformed"
    case requestInvalid = "request.invalid"
    case requestDuplicateKey = "request.duplicateKey"
    case requestRefused = "request.refused"
    case requestLimitExceeded = "request.limitExceeded"
    case requestTooLarge = "request.tooLarge"
    case requestURITooLong = "request.uriTooLong"
    case requestHeadersTooLarge = "request.headersTooLarge"
    case requestTimeout = "request.timeout"
    case expectationFailed = "request.expectationFailed"
    case transferCodingUnknown = "request.transferCodingUnknown"
    case methodUnknown = "request.methodUnknown"
    case versionUnsupported = "request.versionUnsupported"
    case unsupportedMediaType = "request.unsupportedMediaType"
    case unsupportedEncoding = "request.unsupportedEncoding"
    case notAcceptable = "request.notAcceptable"
    case secretInURL = "request.secretInURL"

    // Where it went
    case routeNotFound = "route.notFound"
    case methodNotAllowed = "route.methodNotAllowed"

    // Who sent it
    case loginRequired = "auth.required"
    case credentialsInvalid = "auth.invalid"
    case loginThrottled = "auth.throttled"
    case accessDenied = "access.denied"
    case csrfRequired = "access.csrfRequired"
    case rateLimited = "access.rateLimited"

    // The records
    case recordNotFound = "record.notFound"
    case recordExists = "record.exists"
    case recordConflict = "record.conflict"
    case preconditionFailed = "record.preconditionFailed"
    case cursorInvalid = "record.cursorInvalid"
    case searchUnavailable = "record.searchUnavailable"
    case fetchAgain = "sync.fetchAgain"

    // The answer
    case notRepresentable = "format.notRepresentable"

    // The server and what stands behind it
    case deadlineExceeded = "server.deadlineExceeded"
    case overloaded = "server.overloaded"
    case stopping = "server.stopping"
    case serverInternal = "server.internal"
    case storeUnavailable = "store.unavailable"
    case storeFull = "store.full"
    case adapterUnavailable = "adapter.unavailable"
    case upstreamFailed = "upstream.failed"
    case upstreamTimeout = "upstream.timeout"
}
