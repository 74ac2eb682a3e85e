import ValueTree

/// Several requests in one. Reads stand alone; changes stand in change sets, of which each happens as a whole or not at
/// all.
///
///     var batch = ODataBatch(admissions.connection)
///     let best = try batch.page(of: admissions.students.filter { $0.gpa > 3.9 })
///     var made: ODataBatch.Pending<Visit>?
///     try batch.changes { set in made = try set.create(visit, in: admissions.visits) }
///     let answers = try await batch.send()
///     let visit = try answers.value(of: made!)
public struct ODataBatch: Sendable {
    /// The answer that a request will have had.
    public struct Pending<Value: Sendable>: Sendable {
        let number: Int
        let read: @Sendable (TransportResponse) throws -> Value
    }

    enum Part: Sendable {
        case read(Int, ODataCall)
        case changes([(Int, ODataCall)])
    }

    let connection: ODataConnection
    private(set) var parts: [Part] = []
    private var last = 0

    /// An empty batch of calls to that service.
    public init(_ connection: ODataConnection) {
        self.connection = connection
    }

    /// Adds a read of the set's first page.
    public mutating func page<Entity>(of set: ODataSet<Entity>) throws -> Pending<ODataPage<Entity>> {
        let version = connection.version
        return add(try set.pageCall(counting: false, size: nil)) {
            try ODataPage(ODataResponse($0.odataJSON(), version), version)
        }
    }

    /// Adds a read of one entity.
    public mutating func entity<Entity>(_ key: ODataKey, of set: ODataSet<Entity>) throws -> Pending<Entity> {
        let version = connection.version
        return add(try set.entityCall(key)) { try ODataResponse($0.odataJSON(), version).structure() }
    }

    /// - Parameter body: names the changes; none may speak of what another one makes.
    public mutating func changes(_ body: (inout ODataChangeSet) throws -> Void) rethrows {
        var set = ODataChangeSet(version: connection.version, last: last)
        try body(&set)
        last = set.last
        if !set.calls.isEmpty { parts.append(.changes(set.calls)) }
    }

    /// Sends all of it.
    ///
    /// - Throws: ``ClientError`` where the batch as a whole was not answered; what became of each request is in the
    ///   answers.
    public func send() async throws -> ODataBatchResponses {
        let text = MultipartBatch(connection.version)
        var call = ODataCall("POST", ["$batch"])
        call.body = .bytes(try text.write(parts), type: text.mediaType)
        call.headers = [Header("Accept", "multipart/mixed")]
        return try ODataBatchResponses(text.read(try await connection.send(call), parts))
    }

    private mutating func add<Value>(
        _ call: ODataCall, _ read: @escaping @Sendable (TransportResponse) throws -> Value
    ) -> Pending<Value> {
        last += 1
        parts.append(.read(last, call))
        return Pending(number: last, read: read)
    }
}

/// Changes that happen as a whole or not at all.
public struct ODataChangeSet {
    let version: ODataVersion
    fileprivate(set) var last: Int
    fileprivate(set) var calls: [(Int, ODataCall)] = []

    /// Adds a creation.
    public mutating func create<Entity>(
        _ entity: Entity, in set: ODataSet<Entity>
    ) throws -> ODataBatch.Pending<Entity> {
        let version = version
        return add(try set.createCall(entity)) { try ODataResponse($0.odataJSON(), version).structure() }
    }

    /// Adds an update of the changed fields.
    @discardableResult
    public mutating func update<Entity>(
        _ entity: Entity, in set: ODataSet<Entity>, changing change: (inout Entity) throws -> Void
    ) throws -> ODataBatch.Pending<Void>? {
        var changed = entity
        try change(&changed)
        return try set.updateCall(from: entity, to: changed).map { add($0) { _ in } }
    }

    /// Adds a deletion.
    @discardableResult
    public mutating func delete<Entity>(_ entity: Entity, in set: ODataSet<Entity>) throws -> ODataBatch.Pending<Void> {
        add(try set.deleteCall(entity)) { _ in }
    }

    private mutating func add<Value>(
        _ call: ODataCall, _ read: @escaping @Sendable (TransportResponse) throws -> Value
    ) -> ODataBatch.Pending<Value> {
        last += 1
        calls.append((last, call))
        return ODataBatch.Pending(number: last, read: read)
    }
}

/// The responses to a batch's requests.
public struct ODataBatchResponses: Sendable {
    private let responses: [Int: TransportResponse]

    init(_ responses: [Int: TransportResponse]) {
        self.responses = responses
    }

    /// - Throws: ``ClientError``: `refused` where the request, or a change of its change set, was; `unreadableAnswer`
    ///   where the server stopped before it.
    public func value<Value>(of pending: ODataBatch.Pending<Value>) throws -> Value {
        guard let response = responses[pending.number] else {
            throw ClientError.unreadableAnswer("the batch ended before this request")
        }
        guard response.isSuccess else { throw ClientError.refused(response.odataRefusal) }
        return try pending.read(response)
    }
}
