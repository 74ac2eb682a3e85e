import ValueTree

extension ODataSet {
    /// Makes a new entity, with the related ones that are set in it.
    ///
    /// - Returns: the entity as the server made it.
    /// - Throws: ``ClientError``: `refused` with the property at fault as ``Refusal/target``.
    public func create(_ entity: Entity) async throws -> Entity {
        try await ODataAnswer(connection.json(createCall(entity)), connection.version).structure()
    }

    /// Changes what the closure changes, and nothing else. Where the entity has an ETag and somebody was first, nothing
    /// is changed and the refusal has status 412.
    ///
    /// - Returns: the entity as it is at the server now.
    @discardableResult
    public func update(_ entity: Entity, changing change: (inout Entity) throws -> Void) async throws -> Entity {
        var changed = entity
        try change(&changed)
        guard let call = try updateCall(from: entity, to: changed) else { return entity }
        let answer = try await connection.json(call)
        guard !answer.isNull else { return try await self.entity(entity.odataKey()) }
        return try ODataAnswer(answer, connection.version).structure()
    }

    /// Fails with status 412 as an update does.
    public func delete(_ entity: Entity) async throws {
        _ = try await connection.send(deleteCall(entity))
    }

    func createCall(_ entity: Entity) throws -> ODataCall {
        var call = ODataCall("POST", path, body: .dictionary(ODataRowWriter.all(of: entity, connection.version)))
        if connection.version == .v4 { call.headers = [Header("Prefer", "return=representation")] }
        return call
    }

    /// Nil where nothing is changed. Related entities are changed in their own sets.
    func updateCall(from old: Entity, to new: Entity) throws -> ODataCall? {
        let changes = ODataRowWriter.changes(from: old, to: new, connection.version)
        guard !changes.isEmpty else { return nil }
        let isOld = connection.version == .v2
        var call = ODataCall(isOld ? "MERGE" : "PATCH", address(try old.odataKey()), body: .dictionary(changes))
        call.headers = Self.condition(old)
        if !isOld { call.headers.append(Header("Prefer", "return=representation")) }
        return call
    }

    func deleteCall(_ entity: Entity) throws -> ODataCall {
        var call = ODataCall("DELETE", address(try entity.odataKey()))
        call.headers = Self.condition(entity)
        return call
    }

    private static func condition(_ entity: Entity) -> [Header] {
        entity.odata.etag.map { [Header("If-Match", $0)] } ?? []
    }
}
