/// Carries requests to the gateway and answers back. An app uses ``URLSessionTransport``; another one is for programs
/// with an HTTP client of their own, and for tests.
///
/// What every transport promises: it follows no redirect, stores no cookie and no answer, and never sends a request
/// twice. A task that is cancelled ends its request. May be called from any task.
public protocol Transport: Sendable {
    /// Sends a request and waits for the whole answer, whatever its status.
    ///
    /// - Throws: ``TransportError``, or `CancellationError` where the task was cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Sends a request and returns as soon as its answer begins. The request's deadline is for the beginning, and after it
    /// for the longest silence; its ``TransportRequest/largestAnswer`` is what may wait to be read: a reader that is
    /// slower loses the stream, and memory never grows.
    ///
    /// - Throws: as ``send(_:)``; ``TransportError/cannotStream`` where nothing else is written.
    func open(_ request: TransportRequest) async throws -> TransportStream
}

/// One request, ready to be sent.
public struct TransportRequest: Sendable, Equatable {
    /// The HTTP method.
    public var method: String
    /// Absolute, `http` or `https`.
    public var url: String
    /// The header fields, in order.
    public var headers: [Header]
    /// The body's bytes.
    public var body: [UInt8]?
    /// From the call to the last byte of the answer; passing it is ``TransportError/deadlineExceeded``.
    public var deadline: Duration
    /// Bytes of an answer's body at most; a longer one is ``TransportError/answerTooLarge(limit:)``.
    public var largestAnswer: Int

    /// Creates a request.
    public init(
        method: String = "GET", url: String, headers: [Header] = [], body: [UInt8]? = nil,
        deadline: Duration = .seconds(30), largestAnswer: Int = 64 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.deadline = deadline
        self.largestAnswer = largestAnswer
    }
}

/// An answer of any status.
public struct TransportResponse: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, in order.
    public var headers: [Header]
    /// The body's bytes.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first field of that name, in whatever case it was written.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// One header field.
public struct Header: Sendable, Equatable {
    /// The field's name; its case does not matter.
    public var name: String
    /// The field's value.
    public var value: String

    /// Creates a header field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Why there is no answer. Whether the server acted on the request is unknown.
public enum TransportError: Error, Sendable, Equatable {
    /// No connection, or one that broke. The text is for a log.
    case unreachable(String)
    /// The call took longer than its deadline.
    case deadlineExceeded
    /// The response has more bytes than were allowed.
    case answerTooLarge(limit: Int)
    /// The address or the certificate: trying again without a change is of no use.
    case notTrusted(String)
    /// The text is no address.
    case invalidAddress(String)
    /// The transport carries whole answers only.
    case cannotStream
}
