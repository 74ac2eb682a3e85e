/// One call of an operation: already authenticated, authorised and checked against the declared input.
public struct Call: Sendable {
    /// The operation that is called.
    public let operation: OperationName
    /// Holds the declared members only (unless the input is open), of the declared shapes, defaults filled in.
    public let input: WireDictionary
    /// The authenticated caller; ``Principal/anonymous`` without credentials.
    public let caller: Principal
    /// The id of the session that the caller's credential belongs to, for what ends with it
    /// (``AccountLookup/hasSession(_:of:)``); nil: an API key, HTTP Basic, another provider's token, no credentials.
    public let session: String?
    /// The id of the HTTP request, as it stands in the response and in the log.
    public let requestID: String
    /// When the gateway answers that the call took too long. The result of work that ends later is discarded.
    public let deadline: ContinuousClock.Instant
    /// The adapter's records as far as the caller may see and change them.
    public let records: any RecordStore
    /// The adapter's log, with the request's id.
    public let log: Log

    /// Creates a call with these values.
    public init(
        operation: OperationName, input: WireDictionary, caller: Principal, session: String? = nil,
        requestID: String, deadline: ContinuousClock.Instant, records: any RecordStore, log: Log
    ) {
        self.operation = operation
        self.input = input
        self.caller = caller
        self.session = session
        self.requestID = requestID
        self.deadline = deadline
        self.records = records
        self.log = log
    }

    /// A member of the input; null where it was left out.
    public subscript(member: FieldName) -> WireValue {
        input[member.text] ?? .null
    }
}

/// The answer of an operation: a value, never an HTTP response. The gateway writes it in the caller's format.
public struct OperationResult: Sendable, Equatable {
    /// The content of the response.
    public enum Content: Sendable, Equatable {
        /// An empty response: 204 over HTTP.
        case nothing
        /// A value of the operation's declared output shape.
        case value(WireValue)
        /// Bytes of one media type that are no value, such as a schema; no format is negotiated.
        case document([UInt8], mediaType: String)
    }

    /// The content of the response.
    public let content: Content
    /// Validators that conditional requests are compared with; nil: they are not supported.
    public let validators: Validators?
    /// The age of the content when it came, where another system answered with what it keeps itself
    /// (``UpstreamResponse/age``); for operations with ``Operation/callThrough``. Never negative.
    public let age: Duration

    /// Creates an operation result with these values.
    public init(_ content: Content, validators: Validators? = nil, age: Duration = .zero) {
        self.content = content
        self.validators = validators
        self.age = max(.zero, age)
    }

    /// A result with a value of the declared output shape.
    public static func value(
        _ value: WireValue, validators: Validators? = nil, age: Duration = .zero
    ) -> OperationResult {
        OperationResult(.value(value), validators: validators, age: age)
    }

    /// A result without content.
    public static let nothing = OperationResult(.nothing)
}

/// Attributes that tell two states of a resource apart (RFC 9110, section 8.8).
public struct Validators: Sendable, Equatable {
    /// Names the state; the gateway derives a strong entity tag for each format from it.
    public let version: String?
    /// The time of the last change, for `Last-Modified`; nil: unknown.
    public let lastModified: WireDate?

    /// Creates validators with these values.
    public init(version: String? = nil, lastModified: WireDate? = nil) {
        self.version = version
        self.lastModified = lastModified
    }
}
