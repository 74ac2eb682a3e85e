import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Testing

/// What a pull says of the collections themselves.
@Suite struct DescriptionTests {
    private let ann = SyncWorld.user("ann", region: "north")

    private func completion(_ world: SyncWorld, _ request: PullRequest) async throws -> PullCompletion {
        guard case .complete(let completion) = try await world.page(request, for: ann).ending else {
            throw PorticoError(.serverInternal, "The pull is not complete.")
        }
        return completion
    }

    @Test func `keys and fields are told to the device that asks and does not have them`() async throws {
        let world = try await SyncWorld()
        let silent = try await completion(world, PullRequest())
        #expect(silent.description == nil && silent.scopes.allSatisfy { $0.description == nil })
        let told = try await completion(world, PullRequest(describe: "none"))
        let pupils = try #require(told.scopes.first { $0.scope == "pupils" }?.description)
        #expect(pupils.key == "number")
        #expect(pupils.fields == ["number": "integer", "region": "string", "secret": "boolean"])
        #expect(told.scopes.allSatisfy { $0.description != nil })
        let again = try await completion(world, PullRequest(checkpoint: told.checkpoint, describe: told.description))
        #expect(again.description == told.description && again.scopes.allSatisfy { $0.description == nil })
        let narrowed = try await completion(
            world, PullRequest(checkpoint: told.checkpoint, collections: ["pupils"], describe: told.description))
        #expect(narrowed.description != told.description && narrowed.scopes.map(\.description) == [pupils])
    }

    @Test func `a description is the same message in every direction`() throws {
        let summary = ScopeSummary(
            scope: "notes", count: 1, checksum: "00",
            description: CollectionDescription(key: "id", fields: ["id": "string", "due": "date"]))
        let completion = PullCompletion(checkpoint: "c", position: 1, scopes: [summary], description: "d")
        #expect(try PullCompletion(from: completion.wireValue) == completion)
        let request = PullRequest(describe: "d")
        #expect(try PullRequest(from: request.wireValue) == request)
    }
}
