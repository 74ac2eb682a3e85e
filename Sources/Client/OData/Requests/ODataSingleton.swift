import ValueTree

/// One entity under a name of its own.
public struct ODataSingleton<Entity: ODataEntity>: ODataQuerying {
    let connection: ODataConnection
    let name: String
    public var options = ODataOptions()

    public init(_ connection: ODataConnection, _ name: String) {
        (self.connection, self.name) = (connection, name)
    }

    /// With the query's selection and expansions.
    public func read() async throws -> Entity {
        var call = ODataCall("GET", [name])
        call.query = try ODataWording(version: connection.version).options(options)
        return try await ODataAnswer(connection.json(call), connection.version).structure()
    }

    /// As ``ODataSet/update(_:changing:)``.
    @discardableResult
    public func update(_ entity: Entity, changing change: (inout Entity) throws -> Void) async throws -> Entity {
        var changed = entity
        try change(&changed)
        let changes = ODataRowWriter.changes(from: entity, to: changed, connection.version)
        var call = ODataCall("PATCH", [name], body: .dictionary(changes))
        call.headers = [Header("Prefer", "return=representation")]
        if let etag = entity.odata.etag { call.headers.append(Header("If-Match", etag)) }
        let answer = try await connection.json(call)
        return answer.isNull ? try await read() : try ODataAnswer(answer, connection.version).structure()
    }
}
