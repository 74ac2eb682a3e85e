import Client
import Foundation
import Testing
import ValueTree

/// The services against the gateway that `PORTICO_GATEWAY` names, with the demo's accounts and sample data: the
/// end-to-end tests start one and run these.
@Suite("A gateway's services", .serialized, .enabled(if: RunningGateway.address != nil))
struct GatewayServicesTests {
    func signedIn() async throws -> Session {
        let session = Session(
            server: try #require(RunningGateway.address), transport: URLSessionTransport(),
            storage: CredentialsInMemory())
        try await session.signIn(name: "alice", password: "portico-demo")
        return session
    }

    @Test("find employees by name, page by page")
    func employees() async throws {
        let directory = try await signedIn().employees
        let found = try await directory.search(name: "John Doe", rowsPerPage: 1)
        #expect(found.employees.map(\.lastName) == ["Doe"] && found.totalRows >= 2)
        let second = try await directory.search(name: "John Doe", page: 1, rowsPerPage: 1)
        #expect(second.employees != found.employees)
        #expect(try await directory.search(name: "John Doe", page: 1_000).employees == [])
    }

    @Test("list users and tell of one")
    func users() async throws {
        let directory = try await signedIn().users
        #expect(try await directory.list().contains(UserDirectory.Entry(id: 100, name: "Fake 1")))
        #expect(try await directory.user(101) == UserDirectory.User(id: 101, name: "Fake 2", shoeSize: "12W"))
        let error = await #expect(throws: ClientError.self) { try await directory.user(999) }
        guard case .refused(let refusal) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(refusal.code == "record.notFound")
    }

    @Test("keep a feed, and ask for it again at no cost")
    @MainActor
    func feeds() async throws {
        let session = Session(
            server: try #require(RunningGateway.address), transport: URLSessionTransport(),
            storage: CredentialsInMemory())
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
        let feed = session.feeds.controller("sonnets", cache: PlistFeedCache(folder: folder), needsSignIn: false)
        let first = try await feed.refresh()
        let verses = try #require(first.data["verses"]?.arrayValue)
        #expect(verses.first?.arrayValue?.count == 2 && first.isChanged)
        let again = session.feeds.controller("sonnets", cache: PlistFeedCache(folder: folder), needsSignIn: false)
        #expect(try await again.refresh().data == first.data)
        #expect(try await session.feeds.document("sonnets", needsSignIn: false) == first.data)
    }

    @Test("make, find, change, share and delete notes")
    func notes() async throws {
        let service = try await signedIn().notes
        let made = try await service.create(title: "Swift \(UUID().uuidString)", text: "by a test")
        #expect(made.owner == "alice" && made.text == "by a test")
        #expect(try await service.update(made.id, text: "changed").title == made.title)
        #expect(try await service.share(made.id, with: ["bob"]) == ["bob"])
        var ids: [String] = []
        for try await note in service.all(searching: made.title) { ids.append(note.id) }
        #expect(ids == [made.id])
        try await service.delete(made.id)
        await #expect(throws: ClientError.self) { try await service.note(made.id) }
    }

    @Test("do the same through what was generated from their declarations")
    func generated() async throws {
        let session = try await signedIn()
        let service = NotesService(session)
        let made = try await service.createNote(.init(title: "generated"))
        let id = try #require(made.id)
        #expect(try await service.updateNote(id, .init(title: "changed")).title == "changed")
        #expect(try await service.share(.init(id: id, with: ["bob"])).sharedWith == ["bob"])
        let page = try await service.listNotes(filter: "id eq '\(id)'", limit: 1)
        #expect(page.items.map(\.id) == [id] && page.items.first?.modified != nil)
        try await service.deleteNote(id)
        let found = try await EmployeesService(session).employeeSearch(.init(order: .asc, fullName: "John Doe"))
        #expect(Set(found.employees.map(\.lastName)) == ["Doe"])
    }
}

enum RunningGateway {
    static let address = ProcessInfo.processInfo.environment["PORTICO_GATEWAY"].flatMap(ServerAddress.init)
}
