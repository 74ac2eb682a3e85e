import SyncDevice

/// An error that an app has to tell apart. Everything that the client throws is one of these or a `CancellationError`.
public enum ClientError: Error, Sendable, Equatable {
    /// No account is signed in, and the call needs one.
    case notSignedIn
    /// The sign-in has ended: expired, revoked, or its password changed. What is on the device stays; ask the person to
    /// sign in again.
    case signInEnded
    /// The server refused the call. The code decides what to do.
    case refused(Refusal)
    /// No connection. Trying again later may help; whether the server acted on the call is unknown.
    case unreachable(String)
    /// The call's time was over. Whether the server acted on it is unknown.
    case deadlineExceeded
    /// The answer is not what the gateway's contract says, or is larger than allowed: perhaps something between the two.
    case unreadableAnswer(String)
    /// The server's address cannot be used, its certificate is not trusted, or the transport cannot do what is asked.
    case server(String)
    /// The server's version of a protocol cannot say what is asked. Nothing was sent.
    case notSupported(String)
    /// The data on the device cannot be read or written. The text is for a log.
    case storage(String)
    /// A record is to be created that there is already.
    case recordExists
    /// A record is to be changed that there is not.
    case recordNotFound
    /// A record is to be created in a collection that is none of ``ReplicaSettings/collections`` or, where those are not
    /// named, none that the account could read when the replica last synced: the replica would never have the record from
    /// the server.
    case unknownCollection(String)
    /// An edit names a field that the collection did not have when the replica last synced.
    case unknownField(String, collection: String)
    /// A record's key field, of that name, is to have another value than the record's id.
    case keyDiffers(String, collection: String)
    /// A record is to be created in a collection whose ids are 64-bit integers, without an id that is one.
    case idNotANumber(collection: String)
    /// As many edits wait for the server as may wait at once (``SyncLimits/waitingEdits``).
    case outboxFull
    /// The replica was closed.
    case closed
}

/// The server's answer to a call that it did not carry out.
public struct Refusal: Sendable, Equatable {
    /// The HTTP status.
    public let status: Int
    /// A code of the gateway's registry, such as `record.conflict`; empty where the answer came from elsewhere.
    public let code: String
    /// May be shown.
    public let message: String
    /// Names the call in the server's log.
    public let requestID: String?
    /// The time to wait before the next try, where the server named it.
    public let retryAfter: Duration?
    /// The subject of the refusal, such as the property at fault, where the server named it.
    public let target: String?
    /// Further reasons, where there are several.
    public let details: [Detail]

    /// One of several faults of a call.
    public struct Detail: Sendable, Equatable {
        /// A code of the error registry.
        public let code: String
        /// The mistake, in words that may be shown.
        public let message: String
        /// The subject of the mistake, such as a field's name.
        public let target: String?

        /// Creates the value from its parts.
        public init(code: String, message: String, target: String? = nil) {
            self.code = code
            self.message = message
            self.target = target
        }
    }

    /// Creates the value from its parts.
    public init(
        status: Int, code: String, message: String, requestID: String? = nil, retryAfter: Duration? = nil,
        target: String? = nil, details: [Detail] = []
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.requestID = requestID
        self.retryAfter = retryAfter
        self.target = target
        self.details = details
    }

    /// Whether the same call may be carried out later.
    public var isTemporary: Bool {
        status == 429 || status == 503 || status == 504 || status == 507 || status == 408
    }
}

extension ClientError {
    init(_ error: TransportError) {
        switch error {
        case .unreachable(let reason): self = .unreachable(reason)
        case .deadlineExceeded: self = .deadlineExceeded
        case .answerTooLarge(let limit): self = .unreadableAnswer("the answer is larger than \(limit) bytes")
        case .notTrusted(let reason), .invalidAddress(let reason): self = .server(reason)
        case .cannotStream: self = .server("this transport reads no streams")
        }
    }
}

extension ClientError {
    init(_ error: EditError, _ collection: String) {
        switch error {
        case .unknownCollection: self = .unknownCollection(collection)
        case .unknownField(let name): self = .unknownField(name, collection: collection)
        case .keyDiffers(let name): self = .keyDiffers(name, collection: collection)
        case .idNotANumber: self = .idNotANumber(collection: collection)
        case .recordExists: self = .recordExists
        case .recordNotFound: self = .recordNotFound
        case .outboxFull: self = .outboxFull
        }
    }
}
