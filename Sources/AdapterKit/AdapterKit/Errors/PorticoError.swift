/// A failure with a code of the registry and a message that may be shown to the caller.
///
/// What only operators should read goes into ``logDetail``, which no answer ever contains. Of `server.internal` that is
/// everything: from every adapter callers get one constant message and no target.
public struct PorticoError: Error, Sendable {
    /// The code of the error, as clients compare it.
    public let code: ErrorCode
    /// A sentence that may be shown to the caller. It holds no secret.
    public let message: String
    /// The member, field or parameter at fault, as a path such as `employees[3].email`; nil where there is none.
    public let target: String?
    /// After how many seconds it is worth trying again; never negative, 2,147,483,647 at most.
    public let retryAfter: Int?
    /// Details for operators; only the log has them.
    public let logDetail: String?

    /// Creates an error with these values. Of `server.internal` the message and the target become a part of the log's detail, and a
    /// `retryAfter` that is negative does too.
    public init(
        _ code: ErrorCode, _ message: String, target: String? = nil, retryAfter: Int? = nil, logDetail: String? = nil
    ) {
        let isInternal = code == .serverInternal
        let hidden = isInternal ? [message == Self.internalMessage ? nil : message, target] : []
        let impossible = retryAfter.flatMap { $0 < 0 ? "retryAfter was \($0)" : nil }
        let details = (hidden + [logDetail, impossible]).compactMap(\.self)
        self.code = code
        self.message = isInternal ? Self.internalMessage : message
        self.target = isInternal ? nil : target
        self.retryAfter = retryAfter.flatMap { $0 < 0 ? nil : min($0, Int(Int32.max)) }
        self.logDetail = details.isEmpty ? nil : details.joined(separator: "; ")
    }

    private static let internalMessage = "Something went wrong on the server."
}

extension PorticoError: CustomStringConvertible {
    public var description: String {
        "\(code.rawValue): \(message)" + (logDetail.map { " (\($0))" } ?? "")
    }
}

/// The registry of everything that can go wrong, as callers see it. A code never changes its meaning.
public enum ErrorCode: String, Sendable, CaseIterable {
    // The request itself
    /// The body is no document of its format.
    case requestMalformed = "request.malformed"
    /// A value is not of the declared shape; the target names it.
    case requestInvalid = "request.invalid"
    /// A dictionary has one key twice.
    case requestDuplicateKey = "request.duplicateKey"
    /// The request's head breaks HTTP's rules or the gateway's.
    case requestRefused = "request.refused"
    /// A count, depth or size within the request is above its limit.
    case requestLimitExceeded = "request.limitExceeded"
    /// The body is above its limit.
    case requestTooLarge = "request.tooLarge"
    /// The request target is above its limit.
    case requestURITooLong = "request.uriTooLong"
    /// The header fields are above their limit.
    case requestHeadersTooLarge = "request.headersTooLarge"
    /// The host that the request names is none of this server's.
    case requestMisdirected = "request.misdirected"
    /// The request did not arrive in time.
    case requestTimeout = "request.timeout"
    /// The `Expect` field asks for what the gateway does not do.
    case expectationFailed = "request.expectationFailed"
    /// The body has an unknown transfer coding.
    case transferCodingUnknown = "request.transferCodingUnknown"
    /// The method is not one that the gateway knows.
    case methodUnknown = "request.methodUnknown"
    /// The HTTP version or the contract's version is not supported.
    case versionUnsupported = "request.versionUnsupported"
    /// The body's media type cannot be read here.
    case unsupportedMediaType = "request.unsupportedMediaType"
    /// The body's content coding cannot be read.
    case unsupportedEncoding = "request.unsupportedEncoding"
    /// No format that the caller accepts can be written.
    case notAcceptable = "request.notAcceptable"
    /// A password or token stands in the URL.
    case secretInURL = "request.secretInURL"
    /// The idempotency key came with another change before.
    case keyReused = "request.keyReused"

    // Where it went
    /// There is nothing at the path.
    case routeNotFound = "route.notFound"
    /// The path does not take the method; `Allow` names those it takes.
    case methodNotAllowed = "route.methodNotAllowed"

    // Who sent it
    /// The call needs a login.
    case loginRequired = "auth.required"
    /// The credentials are wrong or have expired.
    case credentialsInvalid = "auth.invalid"
    /// Too many failed logins; `Retry-After` says when to try again.
    case loginThrottled = "auth.throttled"
    /// The caller lacks the right.
    case accessDenied = "access.denied"
    /// The token against cross-site requests is missing or wrong.
    case csrfRequired = "access.csrfRequired"
    /// The operator has to show the password again.
    case confirmationRequired = "access.confirmationRequired"
    /// The caller makes too many requests; `Retry-After` says when to try again.
    case rateLimited = "access.rateLimited"

    // The records
    /// There is no record with this id that the caller may see.
    case recordNotFound = "record.notFound"
    /// The id or a unique value is taken.
    case recordExists = "record.exists"
    /// The record was changed since the state that the change is based on.
    case recordConflict = "record.conflict"
    /// A condition of the request (`If-Match` and others) does not hold.
    case preconditionFailed = "record.preconditionFailed"
    /// The cursor belongs to another query or has been altered.
    case cursorInvalid = "record.cursorInvalid"
    /// The entity has no full-text search.
    case searchUnavailable = "record.searchUnavailable"
    /// The log no longer reaches back to the position: fetch everything again.
    case fetchAgain = "sync.fetchAgain"

    // The answer
    /// The value cannot be written in the format that the caller accepts.
    case notRepresentable = "format.notRepresentable"

    // The server and what stands behind it
    /// The call took longer than its deadline.
    case deadlineExceeded = "server.deadlineExceeded"
    /// The server has no capacity; `Retry-After` says when to try again.
    case overloaded = "server.overloaded"
    /// The server is shutting down.
    case stopping = "server.stopping"
    /// A fault of the server or an adapter. The log has the details.
    case serverInternal = "server.internal"
    /// The database cannot be used.
    case storeUnavailable = "store.unavailable"
    /// The disk or a quota is full.
    case storeFull = "store.full"
    /// The adapter does not run or cannot do this.
    case adapterUnavailable = "adapter.unavailable"
    /// Another system could not be reached or answered with an error.
    case upstreamFailed = "upstream.failed"
    /// Another system did not answer in time.
    case upstreamTimeout = "upstream.timeout"
    /// Another system may have made the change, or not. The change is a record of `portico/writes`.
    case upstreamOutcomeUnknown = "upstream.outcomeUnknown"
}
