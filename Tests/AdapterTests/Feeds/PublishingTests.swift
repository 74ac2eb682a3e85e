import AdapterKit
import AdapterTesting
import PlistFeeds
import Testing

@Suite struct `Publishing` {
    private let host: TestHost

    init() async throws {
        host = try await TestHost(PlistFeedsModule.self)
    }

    private func publish(_ text: String, title: String? = nil) async throws -> WireValue {
        var input: WireDictionary = ["name": "news", "content": ["text": .string(text)]]
        if let title { input["title"] = .string(title) }
        return try await host.value("publish", input, as: .user("olga"))
    }

    private func rollBack(to version: Int64) async throws -> WireValue {
        try await host.value("rollback", ["name": "news", "version": .int64(version)])
    }

    private func shown() async throws -> WireValue? {
        try await host.value("feed", ["name": "news"])["text"]
    }

    private func versions() async throws -> [WireValue] {
        try await host.value("versions", ["name": "news"])["versions"]?.arrayValue ?? []
    }

    private func numbers() async throws -> [Int64] {
        try await versions().compactMap { $0["version"]?.int64Value }
    }

    @Test func `the first publication makes the feed`() async throws {
        let answer = try await publish("one")
        #expect(answer["version"] == 1)
        #expect(answer["changed"] == true)
        #expect(try await shown() == "one")
        #expect(
            try await versions() == [
                ["version": 1, "published": .date(host.clock.now()), "publishedBy": "olga", "current": true]
            ])
    }

    @Test func `the same content again is no new version`() async throws {
        _ = try await publish("one")
        let before = host.records.position
        host.clock.advance(seconds: 60)
        let answer = try await publish("one")
        #expect(answer["version"] == 1)
        #expect(answer["changed"] == false)
        #expect(host.records.position == before)
    }

    @Test func `a new title alone is no new version`() async throws {
        _ = try await publish("one")
        #expect(try await publish("one", title: "News")["changed"] == true)
        let feeds = try await host.value("list")["feeds"]?.arrayValue
        #expect(feeds?.first?["title"] == "News")
        #expect(try await numbers() == [1])
        #expect(try await publish("two")["version"] == 2)
        #expect(try await host.value("list")["feeds"]?.arrayValue?.first?["title"] == "News")
    }

    @Test func `rolling back shows an old version, and its number is not given again`() async throws {
        for text in ["one", "two", "three"] { _ = try await publish(text) }
        host.clock.advance(seconds: 60)
        #expect(try await rollBack(to: 1)["changed"] == true)
        #expect(try await shown() == "one")
        #expect(try await versions().filter { $0["current"] == true }.compactMap { $0["version"] } == [1])
        #expect(try await publish("four")["version"] == 4)
        #expect(try await numbers() == [4, 3, 2, 1])
    }

    @Test func `rolling back to what is shown changes nothing`() async throws {
        _ = try await publish("one")
        let before = host.records.position
        #expect(try await rollBack(to: 1)["changed"] == false)
        #expect(host.records.position == before)
    }

    @Test func `readers are notified of a roll-back as of a publication`() async throws {
        _ = try await publish("one")
        let first = try await host.call("feed", ["name": "news"]).validators
        _ = try await publish("two")
        host.clock.advance(seconds: 60)
        _ = try await rollBack(to: 1)
        let validators = try await host.call("feed", ["name": "news"]).validators
        #expect(validators?.version != first?.version)
        #expect(validators?.lastModified == host.clock.now())
    }

    @Test func `an unknown version and an unknown feed are not found`() async throws {
        _ = try await publish("one")
        #expect(try await refusal { try await rollBack(to: 2) }?.code == .recordNotFound)
        for operation in ["rollback", "versions"] as [OperationName] {
            let input: WireDictionary = operation == "rollback" ? ["name": "gone", "version": 1] : ["name": "gone"]
            #expect(try await refusal { try await host.call(operation, input) }?.code == .recordNotFound)
        }
    }

    @Test func `a hundred versions are kept, and the one that is shown`() async throws {
        for number in 1...105 { _ = try await publish("\(number)") }
        #expect(try await numbers() == Array((6...105).reversed()))
        _ = try await rollBack(to: 6)
        _ = try await publish("again")
        #expect(try await numbers() == Array((7...106).reversed()))
    }

    @Test func `publications at once are numbered one after the other`() async throws {
        let host = host
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...4 {
                group.addTask {
                    try await host.call("publish", ["name": "news", "content": ["number": .int64(Int64(number))]])
                }
            }
            try await group.waitForAll()
        }
        #expect(try await numbers() == [4, 3, 2, 1])
    }

    @Test(arguments: ["", "1news", "a b", "access", "enabled", String(repeating: "n", count: 65)])
    func `a feed cannot have every name`(name: String) async throws {
        let error = try await refusal { try await host.call("publish", ["name": .string(name), "content": [:]]) }
        #expect(error?.code == .requestInvalid)
        #expect(error?.target == "name")
    }
}
