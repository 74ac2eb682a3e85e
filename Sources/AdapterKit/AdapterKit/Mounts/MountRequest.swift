/// One request at a door: its caller is known, nothing of it is interpreted.
public struct MountRequest: Sendable {
    public let mount: OperationName
    /// As sent; `HEAD` comes as `GET`.
    public let method: String
    /// Path and query as they came, percent-encoded, the door's root included.
    public let target: String
    /// Scheme and authority by which the caller knows the gateway: `https://portico.example`. Empty where it is unknown.
    public let origin: String
    public let headers: MountHeaders
    /// After content coding, within the door's limit.
    public let body: [UInt8]
    public let caller: Principal
    public let requestID: String
    public let deadline: ContinuousClock.Instant
    /// The adapter's records as far as the caller may see and change them.
    public let records: any RecordStore
    public let log: Log

    public init(
        mount: OperationName, method: String, target: String, origin: String, headers: MountHeaders, body: [UInt8],
        caller: Principal, requestID: String, deadline: ContinuousClock.Instant, records: any RecordStore, log: Log
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
        self.log = log
    }
}

/// What is known of a request that failed, perhaps before its caller or its body was.
public struct MountFailure: Sendable {
    public let mount: OperationName
    public let method: String
    public let target: String
    public let headers: MountHeaders
    public let requestID: String

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
    public struct Field: Sendable, Equatable {
        public let name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public private(set) var fields: [Field]

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
