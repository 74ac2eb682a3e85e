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
        call.query = try ODataWording(version: connection.version).options(options, keys: Entity.odataKeys)
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

    public func first() async throws -> Entity? {
        try await top(1).page().entities.first
    }

    /// How many there are.
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
        try await ODataAnswer(connection.json(entityCall(key)), connection.version).structure()
    }

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
        try ODataPage(ODataAnswer(await connection.json(call), connection.version), connection.version)
    }
}
