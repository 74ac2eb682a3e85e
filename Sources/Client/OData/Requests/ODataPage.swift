import Foundation
import ValueTree

/// A part of a collection.
public struct ODataPage<Entity: ODataEntity>: Sendable, Equatable {
    /// The page's entities, in the query's order.
    public let entities: [Entity]
    /// The number of entities in all, where that was asked for.
    public let count: Int64?
    /// Where the next page is; nil: this is the last.
    public let nextLink: String?
    /// The address that returns the changes from now on, where they are tracked.
    public let deltaLink: String?

    init(_ answer: ODataResponse, _ version: ODataVersion) throws {
        guard let items = answer.items else { throw ClientError.unreadableAnswer("a collection without its entities") }
        entities = try items.map { try Entity(ODataRow($0, version)) }
        (count, nextLink, deltaLink) = (answer.count, answer.nextLink, answer.deltaLink)
    }
}

/// The entities of all pages, in their order.
public struct ODataEntities<Entity: ODataEntity>: AsyncSequence, Sendable {
    /// An entity of the sequence.
    public typealias Element = Entity
    let set: ODataSet<Entity>

    public func makeAsyncIterator() -> Iterator { Iterator(set: set) }

    /// Reads page after page.
    public struct Iterator: AsyncIteratorProtocol {
        let set: ODataSet<Entity>
        private var page: ODataPage<Entity>?
        private var rest: ArraySlice<Entity> = []
        private var isAtEnd = false

        init(set: ODataSet<Entity>) { self.set = set }

        /// - Throws: ``ClientError``, or `CancellationError`.
        public mutating func next() async throws -> Entity? {
            while rest.isEmpty, !isAtEnd {
                try Task.checkCancellation()
                if let seen = page { page = try await set.page(after: seen) } else { page = try await set.page() }
                rest = page?.entities[...] ?? []
                isAtEnd = page?.nextLink == nil
            }
            return rest.popFirst()
        }
    }
}

/// Follows links that a server gave. Only their path and query count: a credential goes to no other server than its own.
struct ODataLinkReading {
    private let connection: ODataConnection

    init(_ connection: ODataConnection) {
        self.connection = connection
    }

    /// - Throws: ``ClientError/unreadableAnswer(_:)`` for a link that leads out of the service.
    func call(_ link: String) throws(ClientError) -> ODataCall {
        guard let parts = URLComponents(string: link) else { throw .unreadableAnswer("a link: \(link)") }
        var segments = parts.percentEncodedPath.split(separator: "/").map { String($0).removingPercentEncoding ?? "" }
        if parts.percentEncodedPath.hasPrefix("/") {
            // What stands before the service's root is the server's address.
            guard let start = segments.indices.first(where: { segments[$0...].starts(with: connection.root) }) else {
                throw .unreadableAnswer("a link that leads elsewhere: \(link)")
            }
            segments = Array(segments[(start + connection.root.count)...])
        }
        var call = ODataCall("GET", segments)
        let pairs = (parts.percentEncodedQuery ?? "").split(separator: "&")
        call.query = pairs.map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func plain(_ text: Substring?) -> String { text.flatMap { String($0).removingPercentEncoding } ?? "" }
            return (name: plain(sides[0]), value: plain(sides.count > 1 ? sides[1] : nil))
        }
        return call
    }
}
