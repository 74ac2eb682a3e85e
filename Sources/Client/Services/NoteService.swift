import Foundation
import ValueTree

/// Notes, online: one's own, and those that others share with one. The replica has them without a network too.
public struct NoteService: Sendable {
    private let session: Session
    private let notes: EntityService<Note>

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

    public func create(title: String, text: String = "", id: String? = nil) async throws -> Note {
        try await notes.create(Draft(id: id, title: title, text: text))
    }

    /// What is nil stays as it is.
    public func update(_ id: String, title: String? = nil, text: String? = nil) async throws -> Note {
        try await notes.update(id, Draft(id: nil, title: title, text: text))
    }

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

public struct Note: Codable, Sendable, Equatable, Identifiable {
    public let id: String
    public let title: String
    public let text: String
    /// The account that created it.
    public let owner: String
    public let sharedWith: [String]
    public let modified: Date
    /// SHA-256 digests, 64 hexadecimal digits each.
    public let attachments: [String]
}
