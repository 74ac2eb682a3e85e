import Foundation
import ValueTree

/// The records of one entity, online: `/api/v1/{adapter}/{entity}`. What needs to work without a network belongs in the
/// replica instead.
public struct EntityService<Item: Codable & Sendable>: Sendable {
    private let session: Session
    private let path: [String]

    /// The entity of that adapter, called with that sign-in.
    public init(_ session: Session, adapter: String, entity: String) {
        self.session = session
        path = ["api", "v1", adapter, entity]
    }

    /// - Throws: ``ClientError``.
    public func page(_ query: RecordPageQuery = RecordPageQuery()) async throws -> RecordPage<Item> {
        let answer = try await session.answer(to: ServerCall(path: path, query: query.parameters))
        var page = try answer.value().read(as: RecordPage<Item>.self)
        page.age = answer.age
        return page
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

    /// Deletes the record. Throws where it is not there.
    public func delete(_ id: String) async throws {
        try await session.perform(ServerCall("DELETE", path: path + [id]))
    }
}

/// A query for a page of an entity's records.
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

    /// Creates the value from its parts.
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

/// One page of an entity's records, as the gateway writes it.
public struct RecordPage<Item: Codable & Sendable>: Codable, Sendable {
    /// The page's records.
    public let items: [Item]
    /// The next page's ``RecordPageQuery/cursor``; nil: this is the last.
    public let next: String?
    /// The age of the records, where another system has their truth; nil: the gateway has it.
    public internal(set) var age: RecordAge?

    // The age is in the answer's header.
    private enum CodingKeys: String, CodingKey {
        case items, next
    }
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

/// Notes, online: one's own, and those that others share with one. The replica has them without a network too.
public struct NoteService: Sendable {
    private let session: Session
    private let notes: EntityService<Note>

    /// Calls the gateway with that sign-in.
    public init(_ session: Session) {
        self.session = session
        notes = EntityService(session, adapter: "notes", entity: "notes")
    }

    /// Every note, the last changed first, fetched page by page while it is read.
    ///
    /// - Parameter words: only notes whose title or text has them.
    public func all(searching words: String? = nil) -> AsyncThrowingStream<Note, any Error> {
        notes.all(RecordPageQuery(search: words, order: "-modified"))
    }

    /// - Throws: ``ClientError``: `refused` with `record.notFound`.
    public func note(_ id: String) async throws -> Note {
        try await notes.record(id)
    }

    /// Creates a note; `id` nil: the server chooses it.
    public func create(title: String, text: String = "", id: String? = nil) async throws -> Note {
        try await notes.create(Draft(id: id, title: title, text: text))
    }

    /// Changes a note. A value that is nil stays as it is.
    public func update(_ id: String, title: String? = nil, text: String? = nil) async throws -> Note {
        try await notes.update(id, Draft(id: nil, title: title, text: text))
    }

    /// Deletes the record. Throws where it is not there.
    public func delete(_ id: String) async throws {
        try await notes.delete(id)
    }

    /// Lets more accounts read a note.
    ///
    /// - Returns: all that may read it now.
    public func share(_ id: String, with accounts: [String]) async throws -> [String] {
        let call = ServerCall("POST", path: ["api", "v1", "notes", "operations", "share"])
        let shared: Shared = try await session.call(call, with: Sharing(id: id, with: accounts))
        return shared.sharedWith
    }

    private struct Draft: Codable {
        let id: String?
        let title: String?
        let text: String?
    }
    private struct Sharing: Codable {
        let id: String
        let with: [String]
    }
    private struct Shared: Codable { let sharedWith: [String] }
}

/// A note, as the adapter declares it.
public struct Note: Codable, Sendable, Equatable, Identifiable {
    /// The note's id.
    public let id: String
    /// The title.
    public let title: String
    public let text: String
    /// The account that created it.
    public let owner: String
    /// The account names that may read it besides its owner.
    public let sharedWith: [String]
    /// When it was last changed.
    public let modified: Date
    /// SHA-256 digests, 64 hexadecimal digits each.
    public let attachments: [String]

    /// Creates the value from its parts.
    public init(
        id: String, title: String, text: String, owner: String, sharedWith: [String] = [], modified: Date,
        attachments: [String] = []
    ) {
        self.id = id
        self.title = title
        self.text = text
        self.owner = owner
        self.sharedWith = sharedWith
        self.modified = modified
        self.attachments = attachments
    }
}
