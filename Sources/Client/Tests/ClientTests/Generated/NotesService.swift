// swift-format-ignore-file
// Written by `porticoctl client generate` from the declarations of notes. Generate it anew, do not edit it.
import Client
import Foundation

public struct NotesService: Sendable {
    private let session: Session

    public init(_ session: Session) {
        self.session = session
    }

    /// Creates a record.
    public func createNote(_ input: NoteFields) async throws -> Note {
        try await session.call(ServerCall("POST", path: ["api", "v1", "notes", "notes"]), with: input)
    }

    /// Deletes a record.
    public func deleteNote(_ id: String) async throws {
        try await session.perform(ServerCall("DELETE", path: ["api", "v1", "notes", "notes", String(id)]))
    }

    /// A page of records.
    ///
    /// - Parameter filter: Which records, such as `title eq 'x'`.
    /// - Parameter search: Words of the search fields.
    /// - Parameter order: Fields by comma; `-` descends.
    /// - Parameter select: Fields by comma.
    /// - Parameter limit: Records of a page.
    /// - Parameter cursor: `next` of the page before; `filter` and `order` stay.
    /// - Parameter count: Whether `total` is answered.
    public func listNotes(filter: String? = nil, search: String? = nil, order: String? = nil, select: String? = nil, limit: Int64? = nil, cursor: String? = nil, count: Bool? = nil) async throws -> NotesPage {
        var query: [(name: String, value: String)] = []
        if let filter { query.append((name: "filter", value: String(filter))) }
        if let search { query.append((name: "search", value: String(search))) }
        if let order { query.append((name: "order", value: String(order))) }
        if let select { query.append((name: "select", value: String(select))) }
        if let limit { query.append((name: "limit", value: String(limit))) }
        if let cursor { query.append((name: "cursor", value: String(cursor))) }
        if let count { query.append((name: "count", value: String(count))) }
        return try await session.call(ServerCall("GET", path: ["api", "v1", "notes", "notes"], query: query))
    }

    /// One record.
    public func readNote(_ id: String) async throws -> Note {
        try await session.call(ServerCall("GET", path: ["api", "v1", "notes", "notes", String(id)]))
    }

    /// Sets a whole record.
    public func replaceNote(_ id: String, _ input: NoteFields) async throws -> Note {
        try await session.call(ServerCall("PUT", path: ["api", "v1", "notes", "notes", String(id)]), with: input)
    }

    /// Lets more accounts read a note.
    public func share(_ input: Share) async throws -> Shared {
        try await session.call(ServerCall("POST", path: ["api", "v1", "notes", "operations", "share"]), with: input)
    }

    /// Changes the named fields of a record.
    public func updateNote(_ id: String, _ input: NoteFields) async throws -> Note {
        try await session.call(ServerCall("PATCH", path: ["api", "v1", "notes", "notes", String(id)]), with: input)
    }
}

extension NotesService {
    public struct Note: Codable, Sendable, Equatable {
        /// Chosen by the caller where it sends one.
        public var id: String?
        public var title: String?
        public var text: String?
        /// The account that created the note.
        public var owner: String?
        /// The accounts that may read it too.
        public var sharedWith: [String]?
        public var modified: WireDate?
        /// SHA-256 digests of what was uploaded with it.
        public var attachments: [String]?

        public init(id: String? = nil, title: String? = nil, text: String? = nil, owner: String? = nil, sharedWith: [String]? = nil, modified: WireDate? = nil, attachments: [String]? = nil) {
            self.id = id
            self.title = title
            self.text = text
            self.owner = owner
            self.sharedWith = sharedWith
            self.modified = modified
            self.attachments = attachments
        }
    }

    public struct NoteFields: Codable, Sendable, Equatable {
        public var id: String?
        public var title: String?
        public var text: String?
        public var owner: String?
        public var sharedWith: [String]?
        public var modified: WireDate?
        public var attachments: [String]?

        public init(id: String? = nil, title: String? = nil, text: String? = nil, owner: String? = nil, sharedWith: [String]? = nil, modified: WireDate? = nil, attachments: [String]? = nil) {
            self.id = id
            self.title = title
            self.text = text
            self.owner = owner
            self.sharedWith = sharedWith
            self.modified = modified
            self.attachments = attachments
        }
    }

    public struct NotesPage: Codable, Sendable, Equatable {
        public var items: [Note]
        public var next: String?
        public var total: Int64?

        public init(items: [Note], next: String? = nil, total: Int64? = nil) {
            self.items = items
            self.next = next
            self.total = total
        }
    }

    public struct Share: Codable, Sendable, Equatable {
        /// The note; the caller's own.
        public var id: String
        /// Names of accounts.
        public var with: [String]

        public init(id: String, with: [String]) {
            self.id = id
            self.with = with
        }
    }

    public struct Shared: Codable, Sendable, Equatable {
        public var id: String
        /// All that may read it now.
        public var sharedWith: [String]

        public init(id: String, sharedWith: [String]) {
            self.id = id
            self.sharedWith = sharedWith
        }
    }
}
