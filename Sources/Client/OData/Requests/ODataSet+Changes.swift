import ValueTree

/// What happened to a query's entities since its delta link was given.
public struct ODataChanges<Entity: ODataEntity>: Sendable, Equatable {
    /// New ones, and those that changed: with the properties that the server tells of.
    public var changed: [Entity] = []
    /// Those that are gone, perhaps also such as never were in the result.
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
    /// All entities, and the link that tells what changes from now on.
    ///
    /// - Throws: ``ClientError``: `notSupported` where the server does not track the query, and for one with expansions:
    ///   what changes in related entities is told by their own sets.
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
            let answer = ODataAnswer(try await connection.json(call), connection.version)
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
