import ValueTree

/// The entities of a set, or those of them that a query asks for.
///
///     let best = admissions.students.filter { $0.gpa > 3.5 && $0.school.stateCode == "OH" }.orderBy { $0.lastName }
///     for try await student in best.expand({ $0.school }).entities { show(student) }
///
/// Making one asks nothing; the same one can be asked again. All of its functions throw ``ClientError``.
public struct ODataSet<Entity: ODataEntity>: ODataQuerying {
    let connection: ODataConnection
    let path: [String]
    public var options = ODataOptions()

    /// The set at that path of the service.
    public init(_ connection: ODataConnection, _ path: String...) {
        self.init(connection, path)
    }

    init(_ connection: ODataConnection, _ path: [String]) {
        (self.connection, self.path) = (connection, path)
    }

    /// The same query, of these entities.
    public func matching(_ query: ODataQuery<Entity>) -> Self {
        var set = self
        set.options = query.options
        return set
    }

    /// The entities of one of the derived types alone.
    public func only<Derived: ODataEntity>(_ type: Derived.Type) -> ODataSet<Derived> {
        var set = ODataSet<Derived>(connection, path + [Derived.odataType])
        set.options = options
        return set
    }

    /// The entities that a link of one of these leads to.
    public func related<Target: ODataEntity>(
        to entity: Entity, _ link: (Entity.Fields) -> ODataLinks<Target>
    ) throws -> ODataSet<Target> {
        let segments = link(Entity.Fields(.root)).path.segments
        return ODataSet<Target>(connection, try address(entity.odataKey()) + segments)
    }

    func address(_ key: ODataKey) -> [String] {
        path.dropLast() + [(path.last ?? "") + key.text(connection.version)]
    }

    func call(_ method: String = "GET") throws -> ODataCall {
        var call = ODataCall(method, path)
        call.query = try ODataSyntax(version: connection.version).options(options, keys: Entity.odataKeys)
        return call
    }
}

// MARK: - Reading

extension ODataSet {
    /// Every entity, fetched page by page while it is read.
    public var entities: ODataEntities<Entity> { ODataEntities(set: self) }

    /// - Parameters:
    ///   - counts: whether to tell how many there are in all.
    ///   - size: of the page; the server may make it smaller.
    public func page(counting counts: Bool = false, size: Int? = nil) async throws -> ODataPage<Entity> {
        try await page(pageCall(counting: counts, size: size))
    }

    /// The page after another.
    public func page(after page: ODataPage<Entity>) async throws -> ODataPage<Entity>? {
        guard let link = page.nextLink else { return nil }
        return try await self.page(ODataLinkReading(connection).call(link))
    }

    /// All entities at once.
    public func all() async throws -> [Entity] {
        var found: [Entity] = []
        for try await entity in entities { found.append(entity) }
        return found
    }

    /// The first entity of the query; nil where there is none.
    public func first() async throws -> Entity? {
        try await top(1).page().entities.first
    }

    /// The number of entities.
    public func count() async throws -> Int {
        var only = ODataSet(connection, path + ["$count"])
        (only.options.filter, only.options.search) = (options.filter, options.search)
        var call = try only.call()
        call.headers = [Header("Accept", "text/plain, */*")]
        let text = String(decoding: try await connection.send(call).body, as: UTF8.self)
        guard let count = Int(text.filter { $0.isNumber }) else {
            throw ClientError.unreadableAnswer("a count: \(text)")
        }
        return count
    }

    /// One entity by its key, with the query's selection and expansions.
    ///
    /// - Throws: ``ClientError``: `refused` with status 404 where there is none.
    public func entity(_ key: ODataKey) async throws -> Entity {
        try await ODataResponse(connection.json(entityCall(key)), connection.version).structure()
    }

    /// The entity of that key. Throws where there is none.
    public func entity(_ key: some ODataPrimitive) async throws -> Entity { try await entity(ODataKey(key)) }

    func entityCall(_ key: ODataKey) throws -> ODataCall {
        var only = ODataSet(connection, address(key))
        (only.options.selected, only.options.expansions) = (options.selected, options.expansions)
        return try only.call()
    }

    func pageCall(counting counts: Bool, size: Int?) throws -> ODataCall {
        var call = try call()
        if counts { call.query.append(connection.version == .v2 ? ("$inlinecount", "allpages") : ("$count", "true")) }
        if let size { call.headers.append(Header("Prefer", "odata.maxpagesize=\(size)")) }
        return call
    }

    func page(_ call: ODataCall) async throws -> ODataPage<Entity> {
        try ODataPage(ODataResponse(await connection.json(call), connection.version), connection.version)
    }
}

/// Changes of a query's entities since its delta link was given.
public struct ODataChanges<Entity: ODataEntity>: Sendable, Equatable {
    /// New ones, and those that changed: with the properties that the server sends.
    public var changed: [Entity] = []
    /// Entities that are gone, perhaps also such as never were in the result.
    public var removed: [ODataRemoval] = []
    /// For the next time; nil where the server gave none.
    public var deltaLink: String?
}

/// An entity that a query does not find any more.
public struct ODataRemoval: Sendable, Equatable {
    /// The entity's id: its address.
    public let id: String
    /// False where the server says that it is there still, and no more what was asked for.
    public let isDeleted: Bool
}

extension ODataSet {
    /// All entities, and the link to the changes from now on.
    ///
    /// - Throws: ``ClientError``: `notSupported` where the server does not track the query, and for one with expansions:
    ///   changes of related entities are returned by their own sets.
    public func tracked() async throws -> (entities: [Entity], deltaLink: String) {
        guard options.expansions.isEmpty else { throw ClientError.notSupported("changes of a query with expansions") }
        var call = try call()
        call.headers.append(Header("Prefer", "odata.track-changes"))
        var page = try await page(call)
        var found = page.entities
        while let next = try await self.page(after: page) {
            page = next
            found += next.entities
        }
        guard let link = page.deltaLink else { throw ClientError.notSupported("the service tracks no changes of this") }
        return (found, link)
    }

    /// - Throws: ``ClientError``: `refused` with status 410 where the link is too old: read everything anew.
    public func changes(since deltaLink: String) async throws -> ODataChanges<Entity> {
        var (changes, link) = (ODataChanges<Entity>(), Optional(deltaLink))
        while let current = link {
            let call = try ODataLinkReading(connection).call(current)
            let answer = ODataResponse(try await connection.json(call), connection.version)
            for item in answer.items ?? [] { try changes.take(item, connection.version) }
            (link, changes.deltaLink) = (answer.nextLink, answer.deltaLink)
        }
        return changes
    }
}

extension ODataChanges {
    /// 4.01's `@removed`, and 4.0's deleted entities.
    fileprivate mutating func take(_ item: WireValue, _ version: ODataVersion) throws {
        let removal = item["@removed"] ?? item["@odata.removed"]
        let isOld = item["@odata.context"]?.stringValue?.hasSuffix("/$deletedEntity") ?? false
        guard removal != nil || isOld else { return changed.append(try Entity(ODataRow(item, version))) }
        let id = (item["@id"] ?? item["@odata.id"] ?? item["id"])?.stringValue
        let reason = (removal?["reason"] ?? item["reason"])?.stringValue
        removed.append(ODataRemoval(id: id ?? "", isDeleted: reason != "changed"))
    }
}

extension ODataSet {
    /// Makes a new entity, with the related ones that are set in it.
    ///
    /// - Returns: the entity as the server made it.
    /// - Throws: ``ClientError``: `refused` with the property at fault as ``Refusal/target``.
    public func create(_ entity: Entity) async throws -> Entity {
        try await ODataResponse(connection.json(createCall(entity)), connection.version).structure()
    }

    /// Changes what the closure changes, and nothing else. Where the entity has an ETag and has changed since, nothing
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
        return try ODataResponse(answer, connection.version).structure()
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

/// One entity under a name of its own.
public struct ODataSingleton<Entity: ODataEntity>: ODataQuerying {
    let connection: ODataConnection
    let name: String
    public var options = ODataOptions()

    /// The singleton of that name.
    public init(_ connection: ODataConnection, _ name: String) {
        (self.connection, self.name) = (connection, name)
    }

    /// With the query's selection and expansions.
    public func read() async throws -> Entity {
        var call = ODataCall("GET", [name])
        call.query = try ODataSyntax(version: connection.version).options(options)
        return try await ODataResponse(connection.json(call), connection.version).structure()
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
        return answer.isNull ? try await read() : try ODataResponse(answer, connection.version).structure()
    }
}
