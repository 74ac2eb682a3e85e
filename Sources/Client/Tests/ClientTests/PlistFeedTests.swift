import Client
import Foundation
import Synchronization
import Testing
import ValueTree
import WireFormats

/// Contract 2's client checks, against a server that a test scripts.
@MainActor
@Suite("A plist feed")
struct PlistFeedTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
    let server = FeedServer()
    let clock = StepClock()
    nonisolated static let url = "http://gateway.example/plists/sonnets"

    func controller(
        _ hearer: Hearer? = nil, url: String = PlistFeedTests.url, reachability: AsyncStream<Bool>? = nil
    ) -> PlistFeedController {
        let transport = ScriptedTransport { [server] in try await server.answer($0) }
        let feed = PlistFeedController(
            FeedAtAddress(url, transport: transport), cache: PlistFeedCache(folder: folder), delegate: hearer,
            reachability: reachability, now: { [clock] in clock.next() })
        hearer?.feed = feed
        return feed
    }

    @Test("that is fed an HTML page fails with code 2, then has the kept data")
    func htmlThenCache() async throws {
        server.next = .document("one")
        try await controller().refresh()
        server.next = .text(200, "<html><body>Sign in</body></html>")
        let hearer = Hearer()
        let feed = controller(hearer)
        let error = await #expect(throws: PlistFeedError.self) { try await feed.refresh() }
        #expect(error?.code == .fileFormat && error?.url == Self.url)
        #expect(feed.data?["text"] == "one")
        #expect(hearer.heard == ["failed 2", "will nothing", "did one"])
    }

    @Test("that is opened has the kept data without the network")
    func opened() async throws {
        server.next = .document("one")
        try await controller().refresh()
        let feed = controller()
        #expect(feed.data == nil)
        await feed.open()
        #expect(feed.data?["text"] == "one")
    }

    @Test("that gets the same data twice tells one change and two updates")
    func sameTwice() async throws {
        let hearer = Hearer()
        let feed = controller(hearer)
        #expect(feed.lastUpdate == .distantPast)
        server.next = .document("same")
        #expect(try await feed.refresh().isChanged)
        let first = feed.lastUpdate
        #expect(try await feed.refresh().isChanged == false)
        #expect(feed.lastUpdate > first && first > .distantPast)
        #expect(hearer.heard == ["will nothing", "did same"])
    }

    @Test("whose server is out of reach fails with code 1 and its url, keeps its model and asks nobody")
    func unreachable() async throws {
        server.next = .document("kept")
        try await controller().refresh()
        let hearer = Hearer()
        let feed = controller(hearer)
        await feed.networkChanged(isReachable: false)
        await feed.update()
        #expect(hearer.heard == ["will nothing", "did kept", "failed 1"])
        #expect(hearer.asked == 0 && server.requests.count == 1)
        let info = try #require(hearer.errors.first).errorUserInfo
        #expect(info["url"] as? URL == URL(string: Self.url))
    }

    @Test("whose connection fails loads the kept copy first, then fails with code 1")
    func connectionFails() async throws {
        server.next = .document("kept")
        try await controller().refresh()
        server.next = .failure(.unreachable("no route"))
        let hearer = Hearer()
        let feed = controller(hearer)
        await feed.update()
        #expect(hearer.heard == ["will nothing", "did kept", "failed 1"])
        #expect(hearer.asked == 1)
    }

    @Test("takes no document from an answer whose status is an error")
    func errorStatus() async throws {
        server.next = .text(500, FeedServer.document("wrong"))
        let feed = controller()
        let error = await #expect(throws: PlistFeedError.self) { try await feed.refresh() }
        #expect(error?.code == .connectionFailed && error?.status == 500)
        #expect(feed.data == nil)
    }

    @Test("asks with the validators it was given, and takes 304 for the same data, after a restart too")
    func conditional() async throws {
        server.next = .document("tagged", etag: "\"7-plist\"")
        try await controller().refresh()
        let hearer = Hearer()
        let feed = controller(hearer)
        server.next = .notModified
        #expect(try await feed.refresh().data["text"] == "tagged")
        let sent = try #require(server.requests.last)
        #expect(sent.headers.contains(Header("If-None-Match", "\"7-plist\"")))
        #expect(feed.lastUpdate > .distantPast)
        #expect(hearer.heard == ["will nothing", "did tagged"])
    }

    @Test("sends no validators of a copy that cannot be read")
    func damagedCopy() async throws {
        server.next = .document("tagged", etag: "\"7-plist\"")
        try await controller().refresh()
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        where file.lastPathComponent != "plistIndex.plist" {
            try Data("torn".utf8).write(to: file)
        }
        server.next = .document("fresh")
        try await controller().refresh()
        #expect(server.requests.last?.headers.contains { $0.name == "If-None-Match" } == false)
    }

    @Test("writes an index that Apple's tools read: by url, the file's name and the last update")
    func index() async throws {
        server.next = .document("one", etag: "\"1\"")
        let feed = controller()
        try await feed.refresh()
        server.next = .document("two", etag: "\"2\"")
        try await feed.refresh()
        let bytes = try Data(contentsOf: folder.appendingPathComponent("plistIndex.plist"))
        let read = try PropertyListSerialization.propertyList(from: bytes, format: nil)
        let entry = try #require((read as? [String: [String: Any]])?[Self.url])
        let name = try #require(entry["localFileName"] as? String)
        #expect(UUID(uuidString: String(name.dropLast(6))) != nil && name.hasSuffix(".plist"))
        #expect(entry["lastUpdate"] as? Date == feed.lastUpdate)
        // The document before it is gone.
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == [name, "plistIndex.plist"].sorted())
    }

    @Test("downloads once, however many ask at the same time")
    func oneDownload() async throws {
        server.next = .document("once")
        let feed = controller()
        async let first = feed.refresh()
        async let second = feed.refresh()
        async let third: Void = feed.update()
        _ = try await (first, second, third)
        #expect(server.requests.count == 1)
    }

    @Test("asks its delegate when the network comes back, and obeys")
    func networkIsBack() async throws {
        server.next = .document("back")
        let hearer = Hearer()
        hearer.allows = false
        let feed = controller(hearer)
        await feed.networkChanged(isReachable: false)
        await feed.networkChanged(isReachable: true)
        #expect(hearer.asked == 1 && server.requests.isEmpty)
        hearer.allows = true
        await feed.networkChanged(isReachable: false)
        await feed.networkChanged(isReachable: true)
        #expect(hearer.asked == 2 && feed.data?["text"] == "back")
    }

    @Test("hears of the network from the stream that it was given")
    func reachabilityStream() async throws {
        server.next = .document("streamed")
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
        let feed = controller(reachability: stream)
        var events = feed.events().makeAsyncIterator()
        continuation.yield(false)
        continuation.yield(true)
        #expect(await events.next() == .willChange)
        #expect(await events.next() == .didChange)
        #expect(feed.data?["text"] == "streamed")
    }

    @Test("tells nobody of a download that was cancelled")
    func cancelled() async throws {
        let hearer = Hearer()
        let feed = controller(hearer)
        server.next = .never
        let waiting = Task { try await feed.refresh() }
        while !Task.isCancelled, server.requests.isEmpty { await Task.yield() }
        feed.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(hearer.heard.isEmpty && feed.lastUpdate == .distantPast)
        server.next = .document("later")
        #expect(try await feed.refresh().data["text"] == "later")
    }

    @Test("that has no address that can be asked fails with code 0")
    func noAddress() async throws {
        let feed = PlistFeedController(
            FeedAtAddress("not an address", transport: URLSessionTransport()), cache: PlistFeedCache(folder: folder))
        let error = await #expect(throws: PlistFeedError.self) { try await feed.refresh() }
        #expect(error?.code == .cannotInitiate)
    }

    @Test(
        "takes the original's DOCTYPE in any case, and nothing without one",
        arguments: [
            ("<!DOCTYPE plist PUBLIC \"-//Apple Computer//DTD PLIST 1.0//EN\" \"x\">", true),
            ("<!DOCTYPE plist PUBLIC \"-//APPLE COMPUTER//DTD PLIST 1.0//EN\" \"x\">", true),
            ("", false), ("<!DOCTYPE html>", false),
        ])
    func doctype(_ doctype: String, isTaken: Bool) async throws {
        server.next = .text(
            200, "<?xml version=\"1.0\"?>\(doctype)<plist><dict><key>text</key><string>x</string></dict></plist>")
        let feed = controller()
        let data = try? await feed.refresh().data
        #expect((data != nil) == isTaken)
    }

    @Test("takes no array as its root, and no bytes that are not UTF-8")
    func roots() async throws {
        server.next = .text(200, "<!DOCTYPE plist><plist><array/></plist>")
        await #expect(throws: PlistFeedError.self) { try await controller().refresh() }
        server.next = .bytes(Array(FeedServer.document("x").utf8) + [0xFF])
        await #expect(throws: PlistFeedError.self) { try await controller().refresh() }
    }
}
