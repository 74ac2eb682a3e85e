import ValueTree

/// The records of one entity, online: `/api/v1/{adapter}/{entity}`. What needs to work without a network belongs in the
/// replica instead.
public struct EntityService<Item: Codable & Sendable>: Sendable {
    private let session: Session
    private let path: [String]

    public init(_ session: Session, adapter: String, entity: String) {
        self.session = session
        path = ["api", "v1", adapter, entity]
    }

    /// - Throws: ``ClientError``.
    public func page(_ query: RecordPageQuery = RecordPageQuery()) async throws -> RecordPage<Item> {
        try await session.call(ServerCall(path: path, query: query.parameters))
    }

    /// Every record that the query finds, fetched page by page while it is read.
    public func all(_ query: RecordPageQuery = RecordPageQuery()) -> AsyncThrowingStream<Item, any Error> {
        let pages = RecordPages(service: self, query: query)
        return AsyncThrowingStream { try await pages.next() }
    }

    /// - Throws: ``ClientError``: `refused` with `record.notFound` where there is none, or none that one may see.
    public func record(_ id: String) async throws -> Item {
        try await session.call(ServerCall(path: path + [id]))
    }

    /// The record as the server made it, with what it filled in.
    public func create(_ fields: some Encodable & Sendable) async throws -> Item {
        try await session.call(ServerCall("POST", path: path), with: fields)
    }

    /// Sets the fields that are not nil, and leaves the others.
    public func update(_ id: String, _ fields: some Encodable & Sendable) async throws -> Item {
        try await session.call(ServerCall("PATCH", path: path + [id]), with: fields)
    }

    public func delete(_ id: String) async throws {
        try await session.perform(ServerCall("DELETE", path: path + [id]))
    }
}

/// What of an entity is asked for.
public struct RecordPageQuery: Sendable, Equatable {
    /// Such as `title eq 'Milk' and modified gt '2026-01-01T00:00:00Z'`.
    public var filter: String?
    /// Words that the entity's search fields contain.
    public var search: String?
    /// Fields by comma, `-` before one for descending.
    public var order: String?
    /// Records of a page; nil: the server's choice.
    public var limit: Int?
    /// ``RecordPage/next`` of the page before.
    public var cursor: String?

    public init(
        filter: String? = nil, search: String? = nil, order: String? = nil, limit: Int? = nil, cursor: String? = nil
    ) {
        self.filter = filter
        self.search = search
        self.order = order
        self.limit = limit
        self.cursor = cursor
    }

    var parameters: [(name: String, value: String)] {
        let all = [
            ("filter", filter), ("search", search), ("order", order), ("limit", limit.map(String.init)),
            ("cursor", cursor),
        ]
        return all.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}

public struct RecordPage<Item: Codable & Sendable>: Codable, Sendable {
    public let items: [Item]
    /// The next page's ``RecordPageQuery/cursor``; nil: this is the last.
    public let next: String?
}

/// Where a walk through the pages is. One reader at a time, as a stream has.
private actor RecordPages<Item: Codable & Sendable> {
    private let service: EntityService<Item>
    private var query: RecordPageQuery
    private var fetched: ArraySlice<Item> = []
    private var isAtEnd = false

    init(service: EntityService<Item>, query: RecordPageQuery) {
        self.service = service
        self.query = query
    }

    func next() async throws -> Item? {
        while fetched.isEmpty, !isAtEnd {
            let page = try await service.page(query)
            fetched = page.items[...]
            query.cursor = page.next
            isAtEnd = page.next == nil
        }
        return fetched.popFirst()
    }
}
