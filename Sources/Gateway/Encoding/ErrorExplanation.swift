import AdapterKit
import HTTPTypes

/// The meaning of an error code, and the advice for the one who gets it and the one who operates the gateway. Every code of
/// ``ErrorCode`` has one: the compiler asks for it. `portico explain` and docs/errors.md show them.
public struct ErrorExplanation: Sendable {
    public let code: ErrorCode
    /// The HTTP status of responses with the code.
    public let status: Int
    /// One or two sentences.
    public let meaning: String
    /// Advice for the caller: an app or its author.
    public let caller: String
    /// Advice for the operator.
    public let operation: String

    public init(_ code: ErrorCode) {
        self.code = code
        status = code.status.code
        (meaning, caller, operation) = code.explanation
    }

    /// Explanations of all codes, in the registry's order.
    public static var all: [ErrorExplanation] { ErrorCode.allCases.map { ErrorExplanation($0) } }

    /// The codes most like a text that is none.
    public static func suggestions(for text: String) -> [String] {
        let wanted = text.lowercased()
        return ErrorCode.allCases.map(\.rawValue).filter { code in
            let code = code.lowercased()
            return code.contains(wanted) || wanted.contains(code)
                || code.split(separator: ".").contains { $0.count > 3 && wanted.contains($0) }
        }
    }
}

extension ErrorCode {
    private static let nothing =
        "Nothing: the request is at fault. Many of them from one app mean a defect of that app."

    /// Meaning, what the caller can do, what the operator can do.
    fileprivate var explanation: (String, String, String) {
        switch self {
        case .requestMalformed:
            (
                "The body is no document of its format, or the address cannot be parsed.",
                "Send a well-formed document with the `Content-Type` it has: `curl -d` says that a body is a form, unless `-H 'Content-Type: application/json'` says otherwise. The message names the place of the mistake.",
                Self.nothing
            )
        case .requestInvalid:
            (
                "A member is missing, unknown or not of its declared shape; `target` names it.",
                "Correct the value. `GET /openapi.json` describes what the operation takes.", Self.nothing
            )
        case .requestDuplicateKey:
            (
                "A dictionary of the body has one key twice.", "Send each key once.", Self.nothing
            )
        case .requestRefused:
            (
                "The request breaks a rule of HTTP or of the contract: it could have two meanings, or the adapter refuses it.",
                "Send what the contract describes. A proxy that rewrites requests is a frequent cause.",
                "Where many callers get it, look at the proxy in front of the gateway."
            )
        case .requestLimitExceeded:
            (
                "A count, depth or size within the request is above its limit.", "Ask for less in one request.",
                "Raise the limit in the configuration where the request is a legitimate one."
            )
        case .requestTooLarge:
            (
                "The body is larger than its limit.", "Send less, or in parts.",
                "Raise `http.limits.body`, or `http.limits.import` for an operator's file."
            )
        case .requestURITooLong:
            (
                "The address is longer than its limit.", "Put the query into a body, or use OData's `$batch`.",
                "Raise `http.limits.uri`."
            )
        case .requestHeadersTooLarge:
            (
                "The header fields are too many or too long.", "Send fewer fields or cookies.",
                "Raise `http.limits.head` or `http.limits.fields`. Cookies of other services of the domain are a frequent cause."
            )
        case .requestMisdirected:
            (
                "The request names a host that is none of this server's: a page of another name may have been made to lead here.",
                "Ask by the name or address that the server listens at.",
                "Put further names of the admin listener into `admin.names`. For a gateway on loopback behind a proxy set `http.publicURL` or `http.trustedProxies`."
            )
        case .requestTimeout:
            (
                "The request did not arrive in time.", "Try again over a better connection.",
                "Nothing, unless many callers get it: then look at the network, `http.deadlines.head` and `http.limits.readRate`."
            )
        case .expectationFailed:
            (
                "The `Expect` field asks for what the gateway does not do.", "Leave the field out.", Self.nothing
            )
        case .transferCodingUnknown:
            (
                "The body has a transfer coding other than `chunked`.", "Send the body with a length or chunked.",
                Self.nothing
            )
        case .methodUnknown:
            (
                "The gateway does not know the method.", "Use a method of HTTP.", Self.nothing
            )
        case .versionUnsupported:
            (
                "The version of HTTP or of the contract is not supported.",
                "Use HTTP/1.1 or HTTP/2, and a version that the service names.", Self.nothing
            )
        case .unsupportedMediaType:
            (
                "The body's media type cannot be read at this path; `Accept` of the answer names those that can.",
                "Send the body in one of them, with its `Content-Type`.", Self.nothing
            )
        case .unsupportedEncoding:
            (
                "The body's content coding cannot be read.", "Send it plain, or with `gzip` or `deflate`.", Self.nothing
            )
        case .notAcceptable:
            (
                "The answer cannot be written in any format that the caller accepts. Nothing was done.",
                "Accept one of the formats that the message names.", Self.nothing
            )
        case .secretInURL:
            (
                "A password or a token stands in the address, where logs and proxies would keep it.",
                "Send it in the body or in `Authorization`, and change it.",
                "Have the account change its secret; the address may be in the logs of proxies."
            )
        case .keyReused:
            (
                "The `Idempotency-Key` came with another change of the account before, within a day.",
                "Choose a new key for each change, and send the old key with the change that it came with.",
                Self.nothing
            )
        case .routeNotFound:
            (
                "There is nothing at the path.",
                "Correct the path. `GET /` and `GET /openapi.json` list what there is.",
                "Look whether the adapter is enabled: `porticoctl adapters list`."
            )
        case .methodNotAllowed:
            (
                "The path does not take the method; `Allow` names those that it takes.", "Use one of them.",
                Self.nothing
            )
        case .loginRequired:
            (
                "The call needs a caller who is signed in.", "Sign in and send the token or the cookie.",
                "Nothing, unless the adapter was to be public: see `adapters.*.access`."
            )
        case .credentialsInvalid:
            (
                "The name, password, token, key or cookie is wrong, has expired or was revoked. It is not said which. Or the scheme of `Authorization` is not taken here.",
                "Sign in anew. A refresh token is good for one use.",
                "`Authorization: Basic` needs `identity.basic.enabled`. Look at the account: `porticoctl accounts list`, `porticoctl sessions list NAME`, `porticoctl audit list`."
            )
        case .loginThrottled:
            (
                "Too many sign-ins of this account or from this address have failed.",
                "Wait for as many seconds as `Retry-After` says.",
                "Look at the failed sign-ins: `porticoctl audit list`. The pause begins with `identity.login.backoff`."
            )
        case .accessDenied:
            (
                "The caller is known and may not do this, or the API key that it sends is for less: for other adapters, for reading, without one of the account's roles. Records that mirror another system are not changed here where it gets no changes.",
                "Nothing without another role; with a key that reaches as far as the account: `/account/` and `GET /auth/keys` say what a key is for.",
                "Give the account a role: `porticoctl roles grant NAME ROLE`; `porticoctl adapters show NAME` says who may, and `adapters.NAME.access` decides it."
            )
        case .csrfRequired:
            (
                "A write with a session cookie lacks the token against cross-site requests, or it is another session's.",
                "Fetch a token with `X-CSRF-Token: Fetch` and send it with the write, or use a bearer token.",
                "Look whether the page's origin is in `http.cors.origins`."
            )
        case .confirmationRequired:
            (
                "What cannot be undone, or gives rights, asks an operator at the console for the password or the token again.",
                "Enter it again; it holds for one action, for two minutes.",
                "Nothing. Who signed in by a link has nothing to show again, and does such things by `porticoctl`."
            )
        case .rateLimited:
            (
                "The caller, the address or the path has had as many requests as it may.",
                "Wait for as many seconds as `Retry-After` says, and ask less often.",
                "Look at `limits.requestsPerMinute`, `limits.addressRequestsPerMinute`, `limits.routes` and `limits.streamsPerPrincipal`."
            )
        case .recordNotFound:
            (
                "There is no record with this id that the caller may see.",
                "Nothing: it was deleted, never existed, or belongs to others.",
                "For a record that should be seen: `porticoctl sync explain USER RECORD` says which rule hides it."
            )
        case .recordExists:
            (
                "The id or a unique value is taken.", "Choose another, or update the record that there is.",
                Self.nothing
            )
        case .recordConflict:
            (
                "The record was changed since the state that the change is based on, or its state does not allow it.",
                "Read the record again and decide.", Self.nothing
            )
        case .preconditionFailed:
            (
                "A condition of the request, such as `If-Match`, does not hold.", "Read the record again and decide.",
                Self.nothing
            )
        case .cursorInvalid:
            (
                "The cursor belongs to another query, another release or has been altered.",
                "Begin with the first page.", Self.nothing
            )
        case .searchUnavailable:
            (
                "The entity has no full-text search.", "Filter by fields instead.", Self.nothing
            )
        case .fetchAgain:
            (
                "The log no longer reaches back to the device's position, or the store was replaced.",
                "Fetch everything again; what was not sent yet stays.",
                "Expected after a restore, or where a device was away for longer than `sync.offlineWindow`."
            )
        case .notRepresentable:
            (
                "A value cannot be written in the format that the caller accepts.", "Accept JSON or CBOR.", Self.nothing
            )
        case .deadlineExceeded:
            (
                "The call took longer than its deadline. A write may have been made.",
                "Read whether it was made, then try again.",
                "`porticoctl logs --request ID` shows which step was slow. The limit is `http.deadlines.request`."
            )
        case .overloaded:
            (
                "The gateway has no capacity for the request. Nothing was done.",
                "Wait for as many seconds as `Retry-After` says and try again.",
                "Look at the metrics of requests under way, queues and the store: [metrics.md](metrics.md)."
            )
        case .stopping:
            ("The gateway shuts down. Nothing was done.", "Try again in a few seconds.", "Expected during a restart.")
        case .serverInternal:
            (
                "A fault of the gateway or of an adapter.", "Report it with the request's id.",
                "`porticoctl logs --request ID` shows the detail that the caller did not get. Report it to the adapter's authors or ours."
            )
        case .storeUnavailable:
            (
                "The database cannot be used.", "Try again later.",
                "`porticoctl status` names the problem; [store.md](store.md) says what to do."
            )
        case .storeFull:
            (
                "The disk or a quota is full. Nothing was written.", "Try again later.",
                "Free space on the disk of the data directory; writes go on by themselves."
            )
        case .adapterUnavailable:
            (
                "The adapter does not run, or what it mirrors is too old to be served.",
                "Wait for as many seconds as `Retry-After` says and try again.",
                "`porticoctl adapters show NAME`, `porticoctl mirrors list` and `porticoctl upstreams list` say why."
            )
        case .upstreamFailed:
            (
                "A system behind the gateway could not be reached or answered with an error.", "Try again later.",
                "`porticoctl upstreams show NAME` has the last failure, `porticoctl upstreams test NAME` calls it."
            )
        case .upstreamTimeout:
            (
                "A system behind the gateway did not answer in time.", "Try again later.",
                "`porticoctl upstreams show NAME`; the limits are `upstreams.*.deadline` and `upstreams.*.limits`."
            )
        case .upstreamOutcomeUnknown:
            (
                "A system behind the gateway, or an adapter's program, may have made the change, or not. A change that a system was sent is a record of `portico/writes`.",
                "Look whether it was made before trying again.",
                "`porticoctl writes list`: look in the other system, then `writes retry ID` or `writes drop ID`. Where a program ended, `porticoctl adapters show NAME --crashes` says how."
            )
        }
    }
}
