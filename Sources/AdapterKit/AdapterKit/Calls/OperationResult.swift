/// What an operation answers: a value, never an HTTP response. The gateway writes it in the caller's format.
public struct OperationResult: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        case nothing
        case value(WireValue)
        /// Bytes of one media type that are no value, such as a schema; no format is negotiated.
        case document([UInt8], mediaType: String)
    }

    public let content: Content
    public let validators: Validators?

    public init(_ content: Content, validators: Validators? = nil) {
        self.content = content
        self.validators = validators
    }

    public static func value(_ value: WireValue, validators: Validators? = nil) -> OperationResult {
        OperationResult(.value(value), validators: validators)
    }

    public static let nothing = OperationResult(.nothing)
}

/// What tells two states of a resource apart (RFC 9110, section 8.8).
public struct Validators: Sendable, Equatable {
    /// Names the state; the gateway derives a strong entity tag for each format from it.
    public let version: String?
    public let lastModified: WireDate?

    public init(version: String? = nil, lastModified: WireDate? = nil) {
        self.version = version
        self.lastModified = lastModified
    }
}
