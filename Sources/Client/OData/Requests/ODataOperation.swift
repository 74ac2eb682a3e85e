import ValueTree

/// A call of a function or an action. Generated services make them.
public struct ODataOperation: Sendable {
    /// Whether the operation may change something.
    public enum Kind: Sendable {
        /// Reads; a `GET` request.
        case function
        /// May change something; a `POST` request.
        case action
    }

    let connection: ODataConnection
    let kind: Kind
    let path: [String]
    let name: String
    private var literals: [(name: String, literal: ODataLiteral)] = []
    private var members = WireDictionary()

    /// - Parameter path: of what it is bound to; empty for one that is not.
    init(_ connection: ODataConnection, _ kind: Kind, _ name: String, on path: [String]) {
        (self.connection, self.kind, self.path, self.name) = (connection, kind, path, name)
    }

    /// The same call with one more argument.
    public func with(_ name: String, _ value: (some ODataPrimitive)?) -> ODataOperation {
        var copy = self
        copy.literals.append((name: name, literal: value?.literal ?? .null))
        copy.members[name] = value?.json(connection.version) ?? .null
        return copy
    }

    /// For a parameter that may be left out: nil leaves it out.
    public func with(optional name: String, _ value: (some ODataPrimitive)?) -> ODataOperation {
        value.map { with(name, $0) } ?? self
    }

    /// For actions, whose parameters are a body.
    public func with(_ name: String, _ value: (some ODataStructure)?) -> ODataOperation {
        var copy = self
        let version = connection.version
        copy.members[name] = value.map { .dictionary(ODataRowWriter.all(of: $0, version)) } ?? .null
        return copy
    }

    /// The same call with one more argument.
    public func with(_ name: String, _ values: [some ODataPrimitive]) -> ODataOperation {
        var copy = self
        copy.members[name] = .array(values.map { $0.json(connection.version) })
        return copy
    }

    /// Calls the operation and ignores its result.
    public func perform() async throws { _ = try await connection.send(call) }

    /// Calls the operation for one value; nil where it gives null.
    public func value<Value: ODataPrimitive>(as type: Value.Type = Value.self) async throws -> Value? {
        guard let json = try await answer().value(name), !json.isNull else { return nil }
        guard let value = Value(odata: json) else { throw ClientError.unreadableAnswer("\(name) is no \(type)") }
        return value
    }

    /// Calls the operation for a collection of values.
    public func values<Value: ODataPrimitive>(as type: Value.Type = Value.self) async throws -> [Value] {
        try await items().map { json in
            guard let value = Value(odata: json) else { throw ClientError.unreadableAnswer("\(name) is no \(type)") }
            return value
        }
    }

    /// Calls the operation for one structure.
    public func structure<Target: ODataStructure>(as type: Target.Type = Target.self) async throws -> Target? {
        let response = try await connection.send(call)
        guard !response.body.isEmpty else { return nil }
        return try ODataResponse(response.odataJSON(), connection.version).structure()
    }

    /// Calls the operation for a collection of structures.
    public func structures<Target: ODataStructure>(as type: Target.Type = Target.self) async throws -> [Target] {
        try await items().map { try Target(ODataRow($0, connection.version)) }
    }

    private func items() async throws -> [WireValue] {
        guard let items = try await answer().items else { throw ClientError.unreadableAnswer("\(name) is no list") }
        return items
    }

    private func answer() async throws -> ODataResponse {
        ODataResponse(try await connection.json(call), connection.version)
    }

    /// Version 4: parameters of functions in parentheses, those of actions as a body. Version 2: all of them as options.
    var call: ODataCall {
        if connection.version == .v2 {
            var call = ODataCall(kind == .function ? "GET" : "POST", path + [name])
            call.query = literals.map { (name: $0.name, value: $0.literal.text(.v2)) }
            return call
        }
        guard kind == .function else { return ODataCall("POST", path + [name], body: .dictionary(members)) }
        let arguments = literals.map { "\($0.name)=\($0.literal.text(.v4))" }.joined(separator: ",")
        return ODataCall("GET", path + ["\(name)(\(arguments))"])
    }
}

extension ODataConnection {
    /// An operation of the service, to be called with arguments.
    public func operation(_ kind: ODataOperation.Kind, _ name: String) -> ODataOperation {
        ODataOperation(self, kind, name, on: [])
    }
}

extension ODataSet {
    /// One that is bound to the set's collection.
    public func operation(_ kind: ODataOperation.Kind, _ name: String) -> ODataOperation {
        ODataOperation(connection, kind, name, on: path)
    }

    /// One that is bound to an entity.
    public func operation(_ kind: ODataOperation.Kind, _ name: String, on entity: Entity) throws -> ODataOperation {
        ODataOperation(connection, kind, name, on: try address(entity.odataKey()))
    }
}
