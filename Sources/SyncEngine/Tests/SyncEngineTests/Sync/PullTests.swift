import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Testing

@Suite struct PullTests {
    let ann = SyncWorld.user("ann", region: "north")

    @Test func `joining a group brings its rows and leaving it takes them, one's own stay`() async throws {
        let world = try await SyncWorld()
        try await world.own.create(["id": "r", "members": []], in: "rooms")
        for index in 0..<3 {
            try await world.own.create(
                ["id": .string("m\(index)"), "room": "r", "author": index == 0 ? "ann" : "ben"], in: "messages")
        }
        var device = PlainDevice(ann)
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["m0"])
        try await world.own.update("r", ["members": ["ann"]], in: "rooms")
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["m0", "m1", "m2"])
        try await world.own.update("r", ["members": ["ben"]], in: "rooms")
        let page = try await world.page(PullRequest(checkpoint: device.checkpoint), for: ann)
        #expect(page.reset == [])
        #expect(page.operations.filter { $0.collection == "messages" }.map(\.id) == ["m1", "m2"])
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["m0"])
        #expect(device.disagreeing == [])
    }

    @Test func `joining and leaving a group between two pages leaves nothing of it`() async throws {
        var (world, device) = try await deviceBesideGroup(of: ["ben"])
        try await world.own.update("m", ["text": "new"], in: "messages")
        try await world.own.update("mine", ["text": "new"], in: "messages")
        try await world.own.update("r", ["members": ["ann"]], in: "rooms")
        #expect(try await !device.step(world, limit: 1))
        try await world.own.update("r", ["members": ["ben"]], in: "rooms")
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["mine"])
        #expect(device.disagreeing == [])
    }

    @Test func `leaving and joining a group between two pages leaves all of it`() async throws {
        var (world, device) = try await deviceBesideGroup(of: ["ann"])
        try await world.own.update("m", ["text": "new"], in: "messages")
        try await world.own.update("r", ["members": ["ben"]], in: "rooms")
        #expect(try await !device.step(world, limit: 1))
        try await world.own.update("r", ["members": ["ann"]], in: "rooms")
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["m", "mine"])
        #expect(device.disagreeing == [])
    }

    @Test func `a group that changes after the piece of the log that is looked at has not changed in it`() async throws
    {
        let (world, device) = try await deviceBesideGroup(of: ["ben"])
        try await world.own.update("r", ["title": "new"], in: "rooms")
        try await world.own.update("r", ["members": ["ann"]], in: "rooms")
        let page = try await world.page(PullRequest(checkpoint: device.checkpoint, limit: 1), for: ann)
        #expect(page.reset == [])
    }

    /// A message in a room of these members, one that is ann's own, and her device, which has all that she may see.
    private func deviceBesideGroup(of members: [WireValue]) async throws -> (SyncWorld, PlainDevice) {
        let world = try await SyncWorld()
        try await world.own.create(["id": "r", "members": .array(members)], in: "rooms")
        try await world.own.create(["id": "m", "room": "r", "author": "ben"], in: "messages")
        try await world.own.create(["id": "mine", "room": "r", "author": "ann"], in: "messages")
        var device = PlainDevice(ann)
        try await device.pull(world)
        return (world, device)
    }

    @Test func `a page ends where its bytes do, at the walk and at changes, and nothing is missing`() async throws {
        var limits = PullLimits()
        limits.pageBytes = 2_500
        let world = try await SyncWorld(limits: limits)
        let text = WireValue.string(String(repeating: "x", count: 1_000))
        let large = WireValue.string(String(repeating: "x", count: 9_000))
        for index in 0..<7 {
            try await world.own.create(
                ["id": .string("n\(index)"), "sharedWith": ["ann"], "text": index == 3 ? large : text], in: "notes")
        }
        var device = PlainDevice(ann)
        let walk = try await counts(of: &device, world)
        #expect(walk == [2, 1, 1, 2, 1])
        for index in 0..<7 {
            try await world.own.update(RecordID(unchecked: "n\(index)"), ["title": "new"], in: "notes")
        }
        #expect(try await counts(of: &device, world) == walk)
        #expect(device.ids(in: "notes").count == 7)
        #expect(device.disagreeing == [])
    }

    @Test func `a group with more bytes than a page is sent page by page`() async throws {
        var limits = PullLimits()
        limits.pageBytes = 2_500
        let world = try await SyncWorld(limits: limits)
        let text = WireValue.string(String(repeating: "x", count: 1_000))
        try await world.own.create(["id": "r", "members": ["ben"]], in: "rooms")
        for index in 0..<5 {
            try await world.own.create(
                ["id": .string("m\(index)"), "room": "r", "author": "ben", "text": text], in: "messages")
        }
        var device = PlainDevice(ann)
        try await device.pull(world)
        try await world.own.update("r", ["members": ["ann"]], in: "rooms")
        let pages = try await counts(of: &device, world)
        #expect(pages.allSatisfy { $0 <= 3 } && pages.count > 2)
        #expect(device.ids(in: "messages").count == 5)
        #expect(device.disagreeing == [])
    }

    /// Operations of each page of one pull.
    private func counts(of device: inout PlainDevice, _ world: SyncWorld) async throws -> [Int] {
        var counts: [Int] = []
        var isDone = false
        while !isDone {
            let page = try await world.page(
                PullRequest(checkpoint: device.next ?? device.checkpoint, limit: 10_000), for: device.principal)
            counts.append(page.operations.count)
            isDone = try await device.step(world, limit: 10_000)
        }
        return counts
    }

    @Test func `a role that is lost takes with it what it showed`() async throws {
        let world = try await SyncWorld()
        try await world.own.create(["id": "m", "room": "r", "author": "ben"], in: "messages")
        var device = PlainDevice(SyncWorld.user("ann", roles: ["auditor"]))
        try await device.pull(world)
        #expect(device.ids(in: "messages") == ["m"])
        device.principal = SyncWorld.user("ann")
        try await device.pull(world)
        #expect(device.ids(in: "messages") == [])
        #expect(device.disagreeing == [])
    }

    @Test func `a change of rules sends only the scopes that it concerns`() async throws {
        let world = try await SyncWorld()
        var device = PlainDevice(ann)
        try await device.pull(world)
        let page = try await world.page(
            PullRequest(checkpoint: device.checkpoint), for: SyncWorld.user("ann", region: "south"))
        #expect(page.reset == ["pupils"])
    }

    @Test func `a delta reads nothing of the rows that did not change`() async throws {
        let world = try await SyncWorld()
        for index in 0..<50 {
            try await world.own.create(["id": .string("n\(index)"), "sharedWith": ["ann"]], in: "notes")
        }
        var device = PlainDevice(ann)
        try await device.pull(world)
        try await world.own.update("n7", ["title": "new"], in: "notes")
        let (pulls, request, caller) = (world.pulls, PullRequest(checkpoint: device.checkpoint), SyncCaller(ann))
        let reads = try await world.store.withReadSnapshot { snapshot in
            let counting = CountingSnapshot(snapshot)
            _ = try pulls.page(request, for: caller, at: counting)
            return (counting.queries, counting.records)
        }
        #expect(reads == (0, 1))
    }

    @Test func `a change that two look at is read once by a snapshot that remembers`() async throws {
        let world = try await SyncWorld()
        var devices = [PlainDevice(ann), PlainDevice(SyncWorld.user("ben"))]
        for index in devices.indices { try await devices[index].pull(world) }
        try await world.own.create(["id": "n", "sharedWith": ["ann", "ben"]], in: "notes")
        let queries = devices.map { (PullRequest(checkpoint: $0.checkpoint), SyncCaller($0.principal)) }
        let pulls = world.pulls
        let (records, told) = try await world.store.withReadSnapshot { snapshot in
            let counting = CountingSnapshot(snapshot)
            let remembering = CachingSnapshot(counting)
            let told = try queries.map { try pulls.page($0.0, for: $0.1, at: remembering).operations.map(\.id) }
            return (counting.records, told)
        }
        #expect(told == [["n"], ["n"]])
        #expect(records == 1)
    }

    @Test func `a checkpoint of another epoch, of another user, ahead or below the floor is refused`() async throws {
        let world = try await SyncWorld()
        try await world.own.create(["id": "n", "sharedWith": ["ann"]], in: "notes")
        var device = PlainDevice(ann)
        try await device.pull(world)
        let request = PullRequest(checkpoint: device.checkpoint)
        let restored = try await SyncWorld(image: try world.store.image, epoch: Epoch("two"))
        await expectFetchAgain { try await restored.page(request, for: ann) }
        await expectFetchAgain { try await world.page(request, for: SyncWorld.user("ben")) }
        let behind = try await SyncWorld()
        await expectFetchAgain { try await behind.page(request, for: ann) }
        try await world.own.update("n", ["title": "x"], in: "notes")
        _ = try await world.store.compact(.through(world.store.position), dryRun: false)
        await expectFetchAgain { try await world.page(request, for: ann) }
    }

    @Test func `a scope that disagrees is sent again, and that scope only`() async throws {
        let world = try await SyncWorld()
        try await world.own.create(["id": "n", "sharedWith": ["ann"]], in: "notes")
        try await world.own.create(["id": "m", "author": "ann"], in: "messages")
        var device = PlainDevice(ann)
        try await device.pull(world)
        device.lose("n", in: "notes")
        try await device.pull(world)
        #expect(device.disagreeing == ["notes"])
        let page = try await world.page(PullRequest(checkpoint: device.checkpoint, refetch: ["notes"]), for: ann)
        #expect(page.reset == ["notes"] && page.operations.map(\.id) == ["n"])
        try await device.pull(world, refetch: ["notes"])
        #expect(device.disagreeing == [])
    }

    private func expectFetchAgain(_ body: () async throws -> PullPage) async {
        let error = await #expect(throws: PorticoError.self) { _ = try await body() }
        #expect(error?.code == .fetchAgain)
    }
}

/// Passes everything on and counts.
private final class CountingSnapshot: StoreSnapshot {
    private let inner: any StoreSnapshot
    private(set) var queries = 0
    private(set) var records = 0

    init(_ inner: any StoreSnapshot) { self.inner = inner }

    var position: Revision { inner.position }
    var floor: Revision { inner.floor }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        records += 1
        return try inner.record(id, in: collection, visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        queries += 1
        return try inner.query(query, in: collection)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        queries += 1
        return try inner.count(filter, in: collection)
    }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        try inner.changes(after: position, limit: limit)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        try inner.history(of: id, in: collection, limit: limit)
    }

    func client(_ id: ClientID) throws -> PushClient? { try inner.client(id) }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] { try inner.clients(after: id, limit: limit) }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try inner.outcome(of: sequence, from: client)
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try inner.keptCopies(which, before: number, limit: limit)
    }
}
