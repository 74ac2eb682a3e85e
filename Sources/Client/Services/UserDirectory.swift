import ValueTree

/// The users of the XML contract: who there is, and what is known of one.
public struct UserDirectory: Sendable {
    private let session: Session

    public init(_ session: Session) {
        self.session = session
    }

    /// Everybody, without details, in the order of their numbers.
    ///
    /// - Throws: ``ClientError``.
    public func list() async throws -> [Entry] {
        try await session.call(ServerCall(path: ["v2", "list"]), returning: List.self).entry.map {
            Entry(id: $0.id, name: $0.name)
        }
    }

    /// - Throws: ``ClientError``: `refused` with `record.notFound` where there is nobody of that number.
    public func user(_ id: Int) async throws -> User {
        let told: Detail = try await session.call(ServerCall(path: ["v2", String(id)]))
        return User(id: told.id, name: told.name, shoeSize: told.shoeSize)
    }

    public struct Entry: Sendable, Equatable, Identifiable {
        public let id: Int
        public let name: String
    }

    public struct User: Sendable, Equatable, Identifiable {
        public let id: Int
        public let name: String
        /// Size and width, such as `8.5M`.
        public let shoeSize: String
    }

    // With the contract's names of the elements.
    private struct List: Codable { let entry: [Listed] }

    private struct Listed: Codable {
        let id: Int
        let name: String

        enum CodingKeys: String, CodingKey {
            case id = "UserId"
            case name = "UserName"
        }
    }

    private struct Detail: Codable {
        let id: Int
        let name: String
        let shoeSize: String

        enum CodingKeys: String, CodingKey {
            case id = "UserId"
            case name = "UserName"
            case shoeSize = "ShoeSize"
        }
    }
}
