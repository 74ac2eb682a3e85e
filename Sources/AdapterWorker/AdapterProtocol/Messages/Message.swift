import AdapterKit

/// One message between host and worker: a CBOR map in a frame (docs/protocol/adapter.md).
public enum Message: Sendable {
    /// Asks for work. `scope` is the number of the other side's request in whose course it is asked.
    case request(Request)
    /// Answers the request with this number.
    case response(Int, Result<WireValue, CrossingError>)
    /// The sender does not wait for the response any more.
    case cancel(Int)
    /// Reports something; there is no response.
    case event(String, scope: Int?, WireDictionary)
    /// A piece of one of the sender's streams.
    case data(stream: Int, [UInt8])
    /// The end of one of the sender's streams, and why, where it is a failure.
    case end(stream: Int, CrossingError?)
    /// So many more bytes of one of the receiver's streams may be sent.
    case credit(stream: Int, bytes: Int)
    /// One of the receiver's streams is no longer wanted.
    case stop(stream: Int)

    /// A request.
    public struct Request: Sendable {
        /// Grows with each request of one side.
        public let number: Int
        /// What is asked for.
        public let method: String
        /// The number of the other side's request in whose course this one is made; nil: none.
        public let scope: Int?
        /// The parameters.
        public let parameters: WireDictionary

        /// Creates a request with these values.
        public init(number: Int, method: String, scope: Int?, parameters: WireDictionary) {
            self.number = number
            self.method = method
            self.scope = scope
            self.parameters = parameters
        }
    }
}

extension Message: MessageValue {
    public var message: WireValue {
        switch self {
        case .request(let request):
            .map(
                ("request", request.number.message), ("method", request.method.message),
                ("for", request.scope?.message), ("params", request.parameters.message))
        case .response(let number, .success(let value)): .map(("response", number.message), ("result", value))
        case .response(let number, .failure(let error)): .map(("response", number.message), ("error", error.message))
        case .cancel(let number): .map(("cancel", number.message))
        case .event(let name, let scope, let parameters):
            .map(("event", name.message), ("for", scope?.message), ("params", parameters.message))
        case .data(let stream, let bytes): .map(("stream", stream.message), ("data", .data(bytes)))
        case .end(let stream, nil): .map(("stream", stream.message), ("end", true))
        case .end(let stream, let error?): .map(("stream", stream.message), ("error", error.message))
        case .credit(let stream, let bytes): .map(("credit", stream.message), ("bytes", bytes.message))
        case .stop(let stream): .map(("stop", stream.message))
        }
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        if let number = try map.number("request") {
            self = .request(
                Request(
                    number: number, method: try map("method"), scope: try map.number("for"),
                    parameters: try map("params", default: [:])))
        } else if let number = try map.number("response") {
            if let error = try map.optional("error", as: CrossingError.self) {
                self = .response(number, .failure(error))
            } else {
                self = .response(number, .success(map.members["result"] ?? .null))
            }
        } else if let number = try map.number("stream") {
            if let bytes = try map.optional("data", as: MessageBytes.self) {
                self = .data(stream: number, bytes.bytes)
            } else {
                self = .end(stream: number, try map.optional("error"))
            }
        } else if let number = try map.number("credit") {
            self = .credit(stream: number, bytes: try map("bytes", as: Natural.self).number)
        } else if let name = try map.optional("event", as: String.self) {
            self = .event(name, scope: try map.number("for"), try map("params", default: [:]))
        } else if let number = try map.number("cancel") {
            self = .cancel(number)
        } else if let number = try map.number("stop") {
            self = .stop(stream: number)
        } else {
            throw MessageError("a message of no known kind")
        }
    }
}

extension MessageMap {
    fileprivate func number(_ key: String) throws -> Int? {
        guard let number = try optional(key, as: Int.self) else { return nil }
        guard number > 0 else { throw MessageError("numbers begin with 1", at: key) }
        return number
    }
}

/// The version of the protocol, and what it calls things.
public enum AdapterProtocolVersion {
    /// The version of programs that are built with this package.
    public static let current = 2
    /// The versions that the host speaks, the one that it prefers first.
    public static let spoken = [current, 1]
}

extension AdapterProtocolVersion {
    /// Names that no worker has, and no package: the host has records, paths and logs of them.
    public static let reservedNames: Set<AdapterName> = [
        "admin", "api", "auth", "backups", "batch", "default", "health", "identity", "metrics", "openapi", "portico",
        "push",
        "requests", "sync", "traces", "upstream",
    ]
}

/// The methods of requests.
public enum RequestMethod {
    // The host asks the worker.
    public static let hello = "hello"
    public static let declare = "declare"
    public static let make = "make"
    public static let start = "start"
    public static let activate = "activate"
    public static let drain = "drain"
    public static let stop = "stop"
    public static let call = "call"
    public static let mount = "mount"
    public static let resolve = "resolve"
    public static let readMirror = "readMirror"
    public static let readMirrorRecord = "readMirrorRecord"
    public static let writeMirror = "writeMirror"
    public static let frontPage = "frontPage"
    public static let performService = "performService"
    public static let prepareRule = "prepareRule"
    public static let verifyRule = "verifyRule"
    public static let shapeError = "shapeError"

    // The worker asks the host.
    public static let record = "record"
    public static let query = "query"
    public static let count = "count"
    public static let requireAccess = "requireAccess"
    public static let apply = "apply"
    public static let openSnapshot = "openSnapshot"
    public static let readSnapshot = "readSnapshot"
    public static let closeSnapshot = "closeSnapshot"
    public static let account = "account"
    public static let accounts = "accounts"
    public static let hasSession = "hasSession"
    public static let listeners = "listeners"
    public static let push = "push"
    public static let changePosition = "changePosition"
    public static let created = "created"
    public static let upstream = "upstream"
    public static let age = "age"
    public static let serviceEntity = "serviceEntity"
    public static let serviceField = "serviceField"
    public static let reseed = "reseed"

    /// Either side asks the other. The reader answers it.
    public static let ping = "ping"

    /// Events of the worker.
    public static let log = "log"
    public static let signal = "signal"
    public static let metric = "metric"
}
