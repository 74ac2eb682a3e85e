/// One request below a mount. Its caller is known; nothing else of it is interpreted.
public struct MountRequest: Sendable {
    /// The mount that the request belongs to.
    public let mount: OperationName
    /// As sent; `HEAD` comes as `GET`.
    public let method: String
    /// Path and query as they came, percent-encoded, the mount's root included.
    public let target: String
    /// Scheme and authority by which the caller knows the gateway: `https://portico.example`. Empty where it is unknown.
    public let origin: String
    /// The request's header fields, without those of the connection.
    public let headers: MountHeaders
    /// After content coding, within the mount's limit.
    public let body: [UInt8]
    /// The authenticated caller; ``Principal/anonymous`` without credentials.
    public let caller: Principal
    /// The id of the request, as it stands in the response and in the log.
    public let requestID: String
    /// When the gateway stops waiting for the response.
    public let deadline: ContinuousClock.Instant
    /// The adapter's records as far as the caller may see and change them.
    public let records: any RecordStore
    /// The ages of the adapter's mirrored records.
    public let ages: any RecordAges
    /// The adapter's log, with the request's id.
    public let log: Log

    /// Creates a mount request with these values.
    public init(
        mount: OperationName, method: String, target: String, origin: String, headers: MountHeaders, body: [UInt8],
        caller: Principal, requestID: String, deadline: ContinuousClock.Instant, records: any RecordStore,
        ages: any RecordAges = NoRecordAges(), log: Log
    ) {
        self.mount = mount
        self.method = method
        self.target = target
        self.origin = origin
        self.headers = headers
        self.body = body
        self.caller = caller
        self.requestID = requestID
        self.deadline = deadline
        self.records = records
        self.ages = ages
        self.log = log
    }
}

/// A request that failed, as far as it is known, perhaps before its caller or its body was.
public struct MountFailure: Sendable {
    /// The mount that the request belongs to.
    public let mount: OperationName
    /// The method as sent.
    public let method: String
    /// Path and query as sent.
    public let target: String
    /// The request's header fields.
    public let headers: MountHeaders
    /// The id of the request, as it stands in the response and in the log.
    public let requestID: String

    /// Creates a mount failure with these values.
    public init(mount: OperationName, method: String, target: String, headers: MountHeaders, requestID: String) {
        self.mount = mount
        self.method = method
        self.target = target
        self.headers = headers
        self.requestID = requestID
    }
}

/// Header fields in their order. Names are compared without regard to case.
public struct MountHeaders: Sendable, Equatable {
    /// One header field.
    public struct Field: Sendable, Equatable {
        /// The name as it was given.
        public let name: String
        /// The value.
        public var value: String

        /// Creates a field with these values.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The fields in order.
    public private(set) var fields: [Field]

    /// Creates a mount headers with these values.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The field's value, several joined by a comma; nil where it is not there. Setting replaces all of the name.
    public subscript(name: String) -> String? {
        get {
            let values = fields.filter { Self.isSame($0.name, name) }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { Self.isSame($0.name, name) }
            if let newValue { fields.append(Field(name, newValue)) }
        }
    }

    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { Self.lower($0) == Self.lower($1) }
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}

extension MountHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field($0, $1) })
    }
}

/// The response of an adapter to a mount's request.
public struct MountResponse: Sendable {
    /// The body of a response.
    public enum Body: Sendable {
        /// All of the body.
        case bytes([UInt8])
        /// Piece by piece, for as long as the caller reads.
        case stream(any ByteStream)
    }

    /// 200 to 599.
    public var status: Int
    /// Without those that belong to the connection (`Content-Length`, `Transfer-Encoding`, `Date`, …).
    public var headers: MountHeaders
    /// The body.
    public var body: Body

    /// Creates a mount response with these values.
    public init(_ status: Int, headers: MountHeaders = [:], body: [UInt8] = []) {
        self.init(status, headers: headers, body: .bytes(body))
    }

    /// Creates a mount response with these values.
    public init(_ status: Int, headers: MountHeaders, body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
